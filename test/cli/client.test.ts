import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import {
  type Child,
  cli,
  type Ended,
  folder,
  type Server,
  startCli,
  startServer,
  testFolder,
} from './support.ts'

const KEY = 'a-key-of-the-tests'
const NO_SUCH = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c'

let home: string
let server: Server
beforeAll(async () => {
  home = folder()
  server = await startServer(['serve'], home, { ASYNCGATE_API_KEY: KEY })
})
afterAll(async () => {
  await server.stop()
  rmSync(home, { recursive: true, force: true })
})

const ask = (...args: string[]) => cli(args, { ASYNCGATE_URL: server.url, ASYNCGATE_API_KEY: KEY })
const askJson = async (...args: string[]) => {
  const { code, stdout, stderr } = await ask(...args, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}
const create = async (...args: string[]): Promise<string> =>
  (await askJson('tasks', 'create', ...args)).task_id

async function post(path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(response.status).toBe(200)
  return response
}

const claimed = z.object({ tasks: z.array(z.object({ task_id: z.string(), lease_id: z.string() })) })

/** Claims the task of this type as a worker. */
async function lease(type: string) {
  const response = await post('/v1/leases/claim', { worker_id: 'w1', accept_types: [type] })
  const [offer] = claimed.parse(await response.json()).tasks
  return { worker_id: 'w1', task_id: offer?.task_id, lease_id: offer?.lease_id }
}

async function complete(type: string, result: unknown): Promise<void> {
  const held = await lease(type)
  await post(`/v1/tasks/${held.task_id}/complete`, { ...held, result, artifacts: [{ url: 'file:///x' }] })
}

function expectRefusal(ended: Ended, code: number, ...parts: string[]): void {
  expect(ended).toMatchObject({ code, stdout: '' })
  for (const part of parts) expect(ended.stderr).toContain(part)
}

describe('asyncgate tasks', () => {
  it('create sends all options, and list finds the task by them', async () => {
    const task_id = await create(
      ...['listed', '--payload', '{"n":1}', '--summary', 'count to one', '--priority', '5'],
      ...['--label', 'a=b', '--session', 's1', '--capability', 'count', '--max-attempts', '3'],
      ...['--as', 'agent:alice', '--idempotency-key', 'k1'],
    )
    const filter = ['--label', 'a=b', '--session', 's1', '--type', 'listed', '--status', 'queued']
    const page = await askJson('tasks', 'list', ...filter, '--created-by', 'alice')
    expect(page.tasks).toMatchObject([
      {
        task_id,
        payload: { n: 1 },
        priority: 5,
        max_attempts: 3,
        requirements: { capabilities: ['count'] },
        created_by: { kind: 'agent', id: 'alice' },
      },
    ])
    const { stdout } = await ask('tasks', 'list', ...filter)
    expect(stdout.split('\n')[0]).toMatch(/^TASK +STATUS +TYPE +OWNER +CREATED +SUMMARY$/)
    expect(stdout).toMatch(new RegExp(`^${task_id}  queued  listed  agent:alice  .*count to one$`, 'm'))
    expect((await ask('tasks', 'list', '--type', 'none')).stdout).toBe('There are no such tasks.\n')
  })

  it('tasks counts prints the number of matching tasks by status', async () => {
    for (const session of ['c1', 'c1', 'c2']) await create('counted', '--session', session)
    const counts = await askJson('tasks', 'counts', '--type', 'counted')
    expect(counts).toMatchObject({ queued: 3, running: 0, succeeded: 0, more: false })
    const { stdout, stderr } = await ask('tasks', 'counts', '--type', 'counted', '--session', 'c1')
    expect(stdout).toMatch(/^STATUS +TASKS\nqueued +2\nleased +0\n/)
    expect(stderr).toBe('')
    expectRefusal(
      await ask('tasks', 'counts', '--created-by', 'nobody:x'),
      2,
      'VALIDATION_ERROR',
      'created_by',
    )
  })

  it('create reports a duplicate idempotency key', async () => {
    const again = ['tasks', 'create', 'twice', '--idempotency-key', 'k2']
    await ask(...again)
    expect((await ask(...again)).stdout).toContain('(it existed already)')
    expectRefusal(
      await ask(...again, '--priority', '1'),
      1,
      'IDEMPOTENCY_CONFLICT',
      'Use a new idempotency_key',
    )
  })

  it('list continues with the cursor of the previous page', async () => {
    await create('paged')
    await create('paged')
    const { stdout, stderr } = await ask('tasks', 'list', '--type', 'paged', '--limit', '1')
    const [, cursor = ''] = /--cursor (\S+)/.exec(stderr) ?? []
    expect(stdout.trim().split('\n')).toHaveLength(2)
    const next = await askJson('tasks', 'list', '--type', 'paged', '--limit', '1', '--cursor', cursor)
    expect(stdout).not.toContain(next.tasks[0].task_id)
  })

  it('wait returns when the task has ended', async () => {
    const task_id = await create('waited')
    const waiting = ask('tasks', 'wait', task_id)
    await complete('waited', { answer: 42 })
    const { code, stdout } = await waiting
    expect(code).toBe(0)
    expect(stdout).toMatch(/^status +succeeded$/m)
    expect(stdout).toMatch(/^result +\{"answer":42\}$/m)
  })

  it('--last stands for the newest task', async () => {
    const task_id = await create('newest')
    const shown = await askJson('tasks', 'show', '--last')
    expect(shown).toMatchObject({ task_id, type: 'newest', status: 'queued' })
    expectRefusal(await ask('tasks', 'wait', '--last', '--timeout', '0'), 1, `tasks wait ${task_id}`)
    await complete('newest', 1)
    expect((await ask('tasks', 'wait', '--last')).stdout).toMatch(/^took +\d+ ms$/m)
    expectRefusal(await ask('tasks', 'show'), 2, 'TASK_ID is missing')
    expectRefusal(await ask('tasks', 'show', task_id, '--last'), 2, 'not both')
  })

  it('wait fails when the timeout is reached', async () => {
    const task_id = await create('slow')
    expectRefusal(await ask('tasks', 'wait', task_id, '--timeout', '0'), 1, 'still queued', 'It continues')
  })

  it('logs prints log lines with control characters escaped', async () => {
    const task_id = await create('logged')
    expect((await ask('tasks', 'logs', task_id)).stdout).toBe('Nothing was logged about this task.\n')
    const held = await lease('logged')
    const lines = [{ text: 'begun' }, { level: 'warn', text: 'odd \u001b[2J', context: { page: 3 } }]
    await post(`/v1/tasks/${task_id}/logs`, { ...held, lines })
    expect(await askJson('tasks', 'logs', task_id)).toMatchObject({ lines, next_cursor: null })
    const { stdout } = await ask('tasks', 'logs', task_id)
    expect(stdout).toMatch(/^\S+Z info {2}begun\n\S+Z warn {2}odd \[U\+001B\]\[2J \{"page":3\}\n$/)
    const { stderr } = await ask('tasks', 'logs', task_id, '--limit', '1')
    const [, cursor = ''] = /--cursor (\S+)/.exec(stderr) ?? []
    const next = await askJson('tasks', 'logs', task_id, '--cursor', cursor)
    expect(next.lines).toMatchObject([lines[1]])
    expectRefusal(await ask('tasks', 'logs', NO_SUCH), 3, 'TASK_NOT_FOUND')
    await post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1 })
  })

  it('show prints worker and progress, and workers lists the worker', async () => {
    const task_id = await create('shown')
    const held = await lease('shown')
    await post(`/v1/tasks/${task_id}/progress`, { ...held, progress: { percent: 40, message: 'at it' } })
    expect((await ask('tasks', 'show', task_id)).stdout).toMatch(
      /^lease +w1 until .*\nprogress +40 % at it$/m,
    )
    const { workers } = await askJson('workers')
    expect(workers).toMatchObject([
      { worker_id: 'w1', state: 'busy', leased: 0, running: 1, accept_types: ['shown'] },
    ])
    expect((await ask('workers')).stdout).toMatch(/^w1 +busy +0 +1 .* shown$/m)
    await post(`/v1/tasks/${task_id}/fail`, { ...held, error: { reason: 'no' } })
    expect((await ask('tasks', 'wait', task_id)).code).toBe(1)
    expect((await ask('workers')).stdout).toMatch(/^w1 +idle +0 +0 /m)
    expect((await ask('workers', '--state', 'busy')).stdout).toBe('There are no such workers.\n')
  })

  it('show prints the progress of a cancellation', async () => {
    const task_id = await create('interrupted')
    const held = await lease('interrupted')
    await ask('tasks', 'cancel', task_id, '--reason', 'no need')
    expect((await ask('tasks', 'show', task_id)).stdout).toMatch(
      /^canceled +\S+Z by \w+:\S+: no need\nacknowledged +not yet.*\nstopped +not yet/m,
    )
    await post(`/v1/tasks/${task_id}/cancellation`, { ...held, stage: 'stopped' })
    expect((await ask('tasks', 'show', task_id)).stdout).toMatch(/^acknowledged +\S+Z\nstopped +\S+Z$/m)
  })

  it('cancel is idempotent, and retry creates a new task', async () => {
    const task_id = await create('canceled')
    expect(await ask('tasks', 'cancel', task_id, '--reason', 'no need')).toMatchObject({
      code: 0,
      stdout: 'The task is canceled.\n',
    })
    expect(await ask('tasks', 'cancel', task_id)).toMatchObject({ code: 0 })
    const again = await askJson('tasks', 'retry', task_id)
    expect(again.task_id).not.toBe(task_id)
    expectRefusal(await ask('tasks', 'retry', again.task_id), 1, 'INVALID_STATE_TRANSITION')
    await complete('canceled', 'done')
    expect(await ask('tasks', 'cancel', again.task_id)).toMatchObject({
      code: 1,
      stdout: 'The task had ended before: it is succeeded.\n',
    })
  })
})

describe('asyncgate tasks cancel', () => {
  it('cancel accepts a session, agent, type or label, and prints the number', async () => {
    const many = { tasks: Array.from({ length: 1000 }, () => ({ type: 'flood', session_id: 'wild' })) }
    for (let i = 0; i < 2; i++) await post('/v1/tasks/batch', { ...many, agent_id: 'runaway' })
    await create('flood', '--session', 'wild', '--as', 'agent:calm', '--label', 'keep=not')
    await create('flood-b', '--as', 'agent:calm')
    await create('flood-b', '--as', 'agent:calm')
    expect(await ask('tasks', 'cancel', '--session', 'wild', '--agent', 'runaway')).toMatchObject({
      code: 0,
      stdout: '2,000 tasks are canceled.\n',
      stderr: '',
    })
    expect((await ask('tasks', 'cancel', '--label', 'keep=not')).stdout).toBe('1 task is canceled.\n')
    const counts = { count: 2, matched: 2, skipped: 0 }
    expect(await askJson('tasks', 'cancel', '--type', 'flood-b', '--status', 'queued')).toEqual(counts)
    expect(await askJson('tasks', 'cancel', '--all', '--as', 'agent:calm')).toMatchObject({ count: 0 })
  })

  it('cancel requires either a task id or a filter', async () => {
    expectRefusal(await ask('tasks', 'cancel'), 2, 'Give a TASK_ID, or a filter')
    expectRefusal(await ask('tasks', 'cancel', NO_SUCH, '--all'), 2, 'not both')
    expectRefusal(await ask('tasks', 'cancel', '--all', '--type', 'x'), 2, 'cannot be combined with a filter')
  })

  it('cancel stops on Ctrl-C and prints the number of canceled tasks', async () => {
    const second = new Promise<IncomingMessage>((resolve) => {
      let requests = 0
      const slow = createServer((request, response) => {
        request.resume()
        requests++
        if (requests === 2) return resolve(request)
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ count: 1000, skipped: 0, more: true, next_cursor: 'on' }))
      }).listen(0, '127.0.0.1')
      onTestFinished(() => void slow.close())
      slow.once('listening', () => {
        const address = slow.address()
        const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
        canceling = startCli(['tasks', 'cancel', '--all', '--url', url], home)
      })
    })
    let canceling: Child | undefined
    const request = await second
    const left = once(request.socket, 'close')
    canceling?.process.kill('SIGINT')
    await left
    expect(await canceling?.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Stopped. At least 1,000 tasks are canceled'),
    })
  })
})

describe('asyncgate receipts and obligations', () => {
  it('the commands list receipts and open obligations', async () => {
    const task_id = await create('owed', '--as', 'agent:bob')
    expect((await ask('receipts', '--task', task_id)).stdout).toMatch(/^\d+ +task\.assigned .* agent:bob /m)
    const { receipts } = await askJson('receipts', '--to', 'agent:bob', '--type', 'task.assigned')
    expect(receipts).toMatchObject([{ task_id }])
    for (const who of [['bob'], ['agent:bob'], ['--as', 'agent:bob']]) {
      const { open_obligations } = await askJson('obligations', ...who)
      expect(open_obligations).toMatchObject([{ task_id }])
    }
    expect((await ask('obligations', 'nobody')).stdout).toBe('There are no open obligations.\n')
    expect((await ask('receipts', '--to', 'nobody')).stdout).toBe('There are no such receipts.\n')
    expectRefusal(await ask('receipts', '--type', 'nonsense'), 2, 'VALIDATION_ERROR')
  })
})

describe('asyncgate tail', () => {
  it('tail prints each change as one line of JSON', async () => {
    const env = { ASYNCGATE_URL: server.url, ASYNCGATE_API_KEY: KEY }
    const following = startCli(['tail', '--json', '--count', '2', '--session', 'tailed'], home, env)
    // The command may not have connected yet, so tasks are created until it has seen enough changes.
    let over = false
    const ended = following.ended.finally(() => {
      over = true
    })
    while (!over) await create('tailed', '--session', 'tailed')
    const { code, stdout } = await ended
    expect(code).toBe(0)
    const changes = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(changes).toMatchObject([{ type: 'tailed', status: 'queued' }, { status: 'queued' }])
  })

  it('tail fails if the task does not exist', async () => {
    expectRefusal(await ask('tail', '--task', NO_SUCH), 3, 'TASK_NOT_FOUND')
  })
})

describe('exit codes', () => {
  it('the exit code is 3 for an object that does not exist', async () => {
    for (const verb of ['show', 'wait', 'cancel', 'retry']) {
      expectRefusal(await ask('tasks', verb, NO_SUCH), 3, 'There is no such task.', 'Check the task_id')
    }
    const { code, stdout, stderr } = await ask('tasks', 'show', NO_SUCH, '--json')
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      error: 'task_not_found',
      code: 'TASK_NOT_FOUND',
      exit_code: 3,
      request_id: expect.any(String),
    })
  })

  it('the exit code is 4 for a wrong key or a missing role', async () => {
    const hint = 'Give the key with --key, or set ASYNCGATE_API_KEY.'
    const env = { ASYNCGATE_URL: server.url }
    // The user who runs the server needs no key.
    expect(await cli(['tasks', 'list'], env)).toMatchObject({ code: 0 })
    vi.stubEnv('ASYNCGATE_CONFIG_DIR', testFolder())
    onTestFinished(() => void vi.unstubAllEnvs())
    expectRefusal(await cli(['tasks', 'list'], env), 4, 'UNAUTHENTICATED', hint)
    expectRefusal(await cli(['workers', '--key', 'wrong'], env), 4, 'UNAUTHENTICATED', hint)
    expect((await cli(['tasks', 'list', '--key', KEY], env)).code).toBe(0)
    expectRefusal(await ask('tasks', 'list', '--as', 'worker:w1'), 4, 'FORBIDDEN')
  })

  it('the exit code is 2 for an invalid value', async () => {
    expectRefusal(await ask('tasks', 'list', '--status', 'lost'), 2, 'VALIDATION_ERROR', 'status')
    expectRefusal(await ask('tasks', 'create', 't', '--priority', '9999'), 2, 'VALIDATION_ERROR', 'priority')
  })

  it('the exit code is 5 if the server is unreachable', async () => {
    for (const args of [['tasks', 'list'], ['obligations'], ['tail']]) {
      const refused = await cli([...args, '--url', 'http://127.0.0.1:9'])
      expectRefusal(refused, 5, 'No server responds at http://127.0.0.1:9', 'asyncgate dev')
    }
  })

  it.each([
    ['<html>hello</html>', 'does not respond like an AsyncGate'],
    ['[]', 'does not respond like an AsyncGate'],
    ['{"hello": "world"}', 'does not fit this version of AsyncGate'],
  ])(
    'the exit code is 1 for a server that is not an AsyncGate and responds with %s',
    async (body, message) => {
      const other = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1')
      await once(other, 'listening')
      onTestFinished(() => void other.close())
      const address = other.address()
      const port = typeof address === 'object' ? address?.port : ''
      expectRefusal(await cli(['tasks', 'list', '--url', `http://127.0.0.1:${port}`]), 1, message)
    },
  )
})
