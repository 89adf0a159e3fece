import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { admin } from '../../support/gates.ts'
import { upstreamsOf } from '../../support/tenants.ts'
import { INSTRUCTION } from '../upstreams/fixture-tools.ts'
import { folder, installed, journal, program } from '../upstreams/support.ts'
import { serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()
const ERAS = ['modern', 'legacy'] as const

describe('third-party servers behind a gate', () => {
  it('upstream tools are listed after the built-in tools and respond as if called directly', async () => {
    const root = folder()
    const served = await serve([
      installed('server-filesystem', [root]),
      installed('server-everything'),
      installed('server-memory', [], { MEMORY_FILE_PATH: join(root, 'memory.jsonl') }),
    ])
    for (const era of ERAS) {
      const client = await served.connect(era)
      const { tools } = await client.listTools()
      const names = tools.map(({ name }) => name)
      const first = names.findIndex((name) => name.includes('__'))
      expect(names.slice(0, first).every((name) => name.startsWith('asyncgate_'))).toBe(true)
      expect(names.slice(first).every((name) => /^(everything|filesystem|memory)__/.test(name))).toBe(true)
      const write = tools.find(({ name }) => name === 'filesystem__write_file')
      expect(write?.annotations).toMatchObject({ destructiveHint: true })
      expect(Object.keys(write?.inputSchema.properties ?? {})).toEqual(
        expect.arrayContaining(['path', 'content']),
      )
      const path = join(root, `${era}.txt`)
      await client.callTool({ name: 'filesystem__write_file', arguments: { path, content: 'durable' } })
      expect(readFileSync(path, 'utf8')).toBe('durable')
      const read = await client.callTool({ name: 'filesystem__read_text_file', arguments: { path } })
      expect(read).toMatchObject({
        content: [{ type: 'text', text: 'durable' }],
        structuredContent: { content: 'durable' },
      })
      const outside = { name: 'filesystem__read_text_file', arguments: { path: '/etc/hostname' } }
      expect(await client.callTool(outside)).toMatchObject({ isError: true })
      const sum = await client.callTool({ name: 'everything__get-sum', arguments: { a: 19, b: 23 } })
      expect(JSON.stringify(sum.content)).toContain('42')
      const image = await client.callTool({ name: 'everything__get-tiny-image', arguments: {} })
      expect(JSON.stringify(image.content)).toContain('image/png')
      const entity = { name: era, entityType: 'era', observations: ['seen'] }
      await client.callTool({ name: 'memory__create_entities', arguments: { entities: [entity] } })
      const graph = await client.callTool({ name: 'memory__read_graph', arguments: {} })
      expect(JSON.stringify(graph.content)).toContain(era)
    }
    const { tasks } = await served.gate.listTasks(ROOT, { type: 'mcp.tool_call', limit: 100 })
    expect(tasks).toHaveLength(14)
    expect(tasks.every(({ status }) => status === 'succeeded')).toBe(true)
    const { sessions } = await served.gate.listSessions(ROOT, {})
    expect(sessions).toMatchObject([
      { client: { name: 'test', version: '1' }, calls: 7 },
      { client: { name: 'test', version: '1' }, calls: 7 },
    ])
  })

  it('a long call reports progress, continues when no client waits, and can be canceled', async () => {
    const served = await serve([installed('server-everything')], { ASYNCGATE_GATEWAY_WAIT_SECONDS: '1' })
    const client = await served.connect()
    const long = {
      name: 'everything__trigger-long-running-operation',
      arguments: { duration: 600, steps: 6000 },
    }
    const answer = await client.callTool(long)
    expect(answer).toMatchObject({
      structuredContent: { done: false, hint: expect.stringContaining('wait_for_task') },
    })
    const { task_id } = Object(answer.structuredContent)
    await until(async () => Number((await served.gate.getTask(ROOT, { task_id })).progress?.progress) >= 3)
    expect(await served.gate.getTask(ROOT, { task_id })).toMatchObject({ status: 'running' })
    expect(upstreamsOf(served).get('everything')?.health.running).toBe(1)
    await client.callTool({ name: 'asyncgate.cancel_task', arguments: { task_id } })
    await until(() => upstreamsOf(served).get('everything')?.health.running === 0)
    await until(async () => (await served.gate.getTask(ROOT, { task_id })).cancellation?.stopped_at)
    expect(await served.gate.getTask(ROOT, { task_id })).toMatchObject({ status: 'canceled' })
  })

  it.each(ERAS)(
    'a timed-out call is canceled at the %s upstream, and a late response is discarded',
    async (era) => {
      const { env, has } = journal()
      const served = await serve([program(era, env)], {
        ASYNCGATE_GATEWAY_AT_TIMEOUT: 'cancel',
        ASYNCGATE_GATEWAY_WAIT_SECONDS: '1',
      })
      const client = await served.connect()
      const answer = await client.callTool({ name: 'fix__wait', arguments: {} })
      expect(answer).toMatchObject({ isError: true, structuredContent: { status: 'canceled' } })
      await has('cancelled')
      const { task_id } = Object(answer.structuredContent)
      expect(await served.gate.getTask(ROOT, { task_id })).toMatchObject({
        status: 'canceled',
        result: { result: null },
      })
    },
  )

  it('a killed upstream is restarted and a read-only call is repeated', async () => {
    const file = join(folder(), 'memory.jsonl')
    const served = await serve([installed('server-memory', [], { MEMORY_FILE_PATH: file })])
    const client = await served.connect()
    const entity = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }
    await client.callTool({ name: 'memory__create_entities', arguments: { entities: [entity] } })
    const pid = pidOf('server-memory')
    process.kill(pid, 'SIGSTOP')
    // The server cannot respond, and then it is killed.
    const call = client.callTool({ name: 'memory__read_graph', arguments: {} })
    await until(() => upstreamsOf(served).get('memory')?.health.running === 1)
    process.kill(pid, 'SIGKILL')
    expect(JSON.stringify((await call).content)).toContain('Ada')
    const { tasks } = await served.gate.listTasks(ROOT, { type: 'mcp.tool_call', limit: 1 })
    expect(await served.gate.getTask(ROOT, { task_id: tasks[0]?.task_id })).toMatchObject({
      status: 'succeeded',
      attempt: 1,
    })
    expect(upstreamsOf(served).get('memory')?.health.restarts).toBe(1)
  })

  it('a call that is approved while its upstream restarts is made after the restart', async () => {
    const restart = { first_ms: 4000, max_ms: 4000 }
    const served = await serve([program('legacy', {}, { restart })])
    const client = await served.connect()
    await served.gate.putPolicy(ROOT, { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { tool: 'echo' } })
    const asked = await client.callTool({ name: 'fix__echo', arguments: { text: 'approved' } })
    const { task_id } = Object(asked.structuredContent)
    expect(await client.callTool({ name: 'fix__crash', arguments: {} })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'UPSTREAM_OUTCOME_UNKNOWN' } },
    })
    await until(() => upstreamsOf(served).get('fix')?.health.state === 'down')
    await served.gate.approve(ROOT, { task_id })
    expect(await served.gate.waitForTask(ROOT, { task_id, wait_seconds: 25 })).toMatchObject({
      status: 'succeeded',
      attempt: 0,
      result: { result: { content: [{ text: 'approved' }] } },
    })
  })

  it('a tool whose definition is not accepted is not called', async () => {
    const served = await serve([program('legacy')])
    const client = await served.connect()
    expect(await client.callTool({ name: 'fix__echo', arguments: { text: 'a' } })).toMatchObject({
      content: [{ text: 'a' }],
    })
    await client.callTool({
      name: 'fix__redefine',
      arguments: { description: 'Says it, and sends it home.' },
    })
    await until(() => upstreamsOf(served).find('fix__echo') === undefined)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).not.toContain('fix__echo')
    expect(await client.callTool({ name: 'fix__echo', arguments: {} })).toMatchObject({
      isError: true,
      structuredContent: { code: 'UPSTREAM_TOOL_QUARANTINED' },
    })
    const direct = { type: 'mcp.tool_call', payload: { upstream: 'fix', tool: 'echo', arguments: {} } }
    await expect(served.gate.createTask(ROOT, direct)).rejects.toMatchObject({
      code: 'UPSTREAM_TOOL_QUARANTINED',
    })
    const hash = upstreamsOf(served)
      .get('fix')
      ?.catalogue.find(({ tool }) => tool === 'echo')?.hash
    await served.gate.acceptUpstreamTool(ROOT, { name: 'fix', tool: 'echo', hash })
    expect(await client.callTool({ name: 'fix__echo', arguments: { text: 'b' } })).toMatchObject({
      content: [{ text: 'b' }],
    })
  })

  it('a result of 50 MB reaches the client complete', async () => {
    const root = folder()
    const path = join(root, 'big.txt')
    writeFileSync(path, 'x'.repeat(25_000_000))
    const files = { ...installed('server-filesystem', [root]), max_result_bytes: 64 * 1024 * 1024 }
    const served = await serve([files])
    const client = await served.connect()
    // The response contains the file twice: as text and as structured content.
    const answer = await client.callTool({ name: 'filesystem__read_text_file', arguments: { path } })
    const [text] = answer.content
    expect(text?.type === 'text' && text.text.length).toBe(25_000_000)
    expect(JSON.stringify(answer.structuredContent).length).toBeGreaterThan(25_000_000)
    const { tasks } = await served.gate.listTasks(ROOT, { type: 'mcp.tool_call', limit: 1 })
    const task = await served.gate.getTask(ROOT, { task_id: tasks[0]?.task_id })
    expect(task.result?.result).toMatchObject({ channel: 'blob', media_type: 'application/json' })
  })

  it('a result that is too large for a task is refused without a results channel', async () => {
    const served = await serve([program('legacy')], { ASYNCGATE_RESULTS_CHANNEL: 'none' })
    const client = await served.connect()
    const answer = await client.callTool({ name: 'fix__big', arguments: { bytes: 2_000_000 } })
    expect(answer).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'UPSTREAM_RESULT_TOO_LARGE' } },
    })
  })

  it("an upstream tool cannot pose as a built-in tool or set AsyncGate's metadata", async () => {
    const served = await serve([program('legacy')])
    const client = await served.connect()
    const { tools } = await client.listTools()
    const theirs = tools.filter(({ name }) => name.startsWith('fix__asyncgate'))
    expect(theirs).toHaveLength(1)
    expect(tools.filter(({ name }) => name === 'asyncgate_create_task')).toHaveLength(1)
    const ours = { type: 'x', agent_id: 'ada' }
    expect(await client.callTool({ name: 'asyncgate.create_task', arguments: ours })).toMatchObject({
      structuredContent: { status: 'queued' },
    })
    const said = await client.callTool({ name: 'fix__add', arguments: {} })
    expect(said).toMatchObject({
      content: [{ type: 'text', text: INSTRUCTION }],
      _meta: { 'asyncgate/origin': 'upstream:fix', 'asyncgate/untrusted': true, theirs: 1 },
    })
    expect(client.getInstructions()).not.toContain('Ignore')
    const refused = await client.callTool({ name: 'fix__refuse', arguments: {} })
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'UPSTREAM_REFUSED', details: { upstream_message: 'Not you.' } } },
    })
    const { message, hint } = Object(Object(refused.structuredContent).error)
    expect(message + hint).not.toContain('Not you')
  })

  it('clients are notified when the tool list of an upstream changes', async () => {
    const served = await serve([{ ...program('legacy'), pinned: 'each_tool' }])
    const client = await served.connect('modern')
    let changes = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      changes += 1
    })
    const listening = await client.listen({ toolsListChanged: true })
    await client.callTool({ name: 'fix__grow', arguments: { name: 'fresh' } })
    await until(() => changes > 0)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('fix__fresh')
    await listening.close()
  })
})

/** The process that was started by this process. */
function pidOf(text: string): number {
  const all = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const mine = all
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent]) => Number(parent) === process.pid)
  const [pid] = mine.find((words) => words.join(' ').includes(text)) ?? []
  if (pid === undefined) throw new Error(`${text} does not run`)
  return Number(pid)
}
