import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { serve } from '../../gateway/calls/served.ts'
import { until } from '../../gateway/calls/support.ts'
import { httpFixture } from '../../gateway/upstreams/fixture-http.ts'
import { FixtureReads } from '../../gateway/upstreams/fixture-reads.ts'
import { web } from '../../gateway/upstreams/support.ts'
import { suiteAuthMode } from '../../support/auth-modes.ts'
import { agent, worker } from '../../support/gates.ts'

const PRIVATE = { ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1' }
const ABSENT = '01980000-0000-7000-8000-000000000000'

/** Every official client: both eras, over HTTP and over stdio. */
async function clientsOf(served: Awaited<ReturnType<typeof serve>>): Promise<readonly Client[]> {
  return [
    await served.connect('modern', 'reader'),
    await served.connect('legacy', 'reader'),
    await served.connectStdio('modern', 'reader'),
    await served.connectStdio('legacy', 'reader'),
  ]
}

async function created(client: Client, args: object = {}): Promise<string> {
  const { structuredContent, content } = await client.callTool({
    name: 'asyncgate.create_task',
    arguments: { type: 'sum', summary: 'Add the numbers', payload: { a: 1 }, ...args },
  })
  const [first] = content
  const text = first?.type === 'text' ? first.text : '{}'
  const { task_id } = structuredContent ?? JSON.parse(text)
  return String(task_id)
}

async function complete({ gate }: Awaited<ReturnType<typeof serve>>, task_id: string, result: unknown) {
  const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', accept_types: ['sum'], max_tasks: 10 })
  const lease_id = tasks.find((task) => task.task_id === task_id)?.lease_id
  const artifacts = [{ type: 'inline', url: `inline://task/${task_id}/result` }]
  await gate.complete(worker(), { worker_id: 'w1', task_id, lease_id, result, artifacts })
}

const textIn = ({ contents }: Awaited<ReturnType<Client['readResource']>>): string => {
  const [first] = contents
  return first !== undefined && 'text' in first ? first.text : ''
}

describe('the prompts and resources of the gate', () => {
  it('every official client reads its tasks and their results', async () => {
    const served = await serve([])
    for (const client of await clientsOf(served)) {
      const task_id = await created(client)
      const uri = `asyncgate://tasks/${task_id}`
      const { resources } = await client.listResources()
      expect(resources.length).toBeLessThanOrEqual(10)
      expect(resources).toContainEqual(
        expect.objectContaining({ uri, name: 'Add the numbers', mimeType: 'application/json' }),
      )
      expect(JSON.parse(textIn(await client.readResource({ uri })))).toMatchObject({
        task_id,
        status: 'queued',
      })
      await expect(client.readResource({ uri: `${uri}/result` })).rejects.toThrow()
      await complete(served, task_id, { sum: 2 })
      expect(JSON.parse(textIn(await client.readResource({ uri: `${uri}/result` })))).toEqual({ sum: 2 })
    }
  })

  it('a large result is read in pages, each of which names the next', async () => {
    const served = await serve([])
    const client = await served.connect('modern', 'reader')
    const task_id = await created(client)
    const result = 'ä'.repeat(80_000)
    await complete(served, task_id, result)
    let uri: unknown = `asyncgate://tasks/${task_id}/result`
    let text = ''
    let pages = 0
    for (; typeof uri === 'string'; pages++) {
      const read = await client.readResource({ uri })
      text += textIn(read)
      uri = read.contents[0]?._meta?.['io.asyncgate/next']
    }
    expect(pages).toBeGreaterThan(2)
    expect(JSON.parse(text)).toBe(result)
    const task = JSON.parse(textIn(await client.readResource({ uri: `asyncgate://tasks/${task_id}` })))
    expect(task.result).toBe(`asyncgate://tasks/${task_id}/result`)
  })

  it('a task that does not exist, or that the caller may not read, is not found in the same words', async () => {
    const served = await serve([], { ASYNCGATE_ADMIN_KEYS: 'ada=0123456789abcdef0123' })
    const { task_id } = await served.gate.createTask(agent('other'), { type: 'sum' })
    for (const client of [
      await served.connect('modern', 'reader'),
      await served.connect('legacy', 'reader'),
    ]) {
      const message = async (id: string, rest = '') => {
        const uri = `asyncgate://tasks/${id}${rest}`
        const error = await client.readResource({ uri }).catch((caught: Error) => caught)
        expect(error).toBeInstanceOf(Error)
        return error instanceof Error ? error.message.replaceAll(id, 'ID') : ''
      }
      for (const rest of ['', '/result', '/result?offset=5']) {
        expect(await message(task_id, rest)).toBe(await message(ABSENT, rest))
        expect(await message(task_id, rest)).toContain('Resource not found')
      }
      for (const odd of ['x', `${ABSENT}/other`, `${ABSENT}/result?offset=-1`, '..']) {
        expect(await message(odd)).toContain('Resource not found')
      }
    }
  })

  it('every official client completes the id of a task from its newest tasks', async () => {
    const served = await serve([])
    for (const client of await clientsOf(served)) {
      const ids: string[] = []
      for (let i = 0; i < 22; i++) ids.unshift(await created(client))
      const { task_id: foreign } = await served.gate.createTask(agent('other'), { type: 'sum' })
      const completed = async (value: string, uri = 'asyncgate://tasks/{id}', name = 'id') => {
        const ref = { type: 'ref/resource' as const, uri }
        return (await client.complete({ ref, argument: { name, value } })).completion
      }
      expect(await completed('')).toEqual({ values: ids.slice(0, 20), hasMore: true })
      const [id = ''] = ids
      const one = { values: [id], hasMore: false }
      expect(await completed(id.slice(0, 35).toUpperCase())).toMatchObject({
        values: expect.arrayContaining([id]),
      })
      expect(await completed(id)).toEqual(one)
      expect(await completed(id, 'asyncgate://tasks/{id}/result{?offset}')).toEqual(one)
      expect((await completed(foreign)).values).toEqual([])
      expect((await completed(id, 'asyncgate://tasks/{id}/result{?offset}', 'offset')).values).toEqual([])
      expect((await completed(id, 'asyncgate://other/{id}')).values).toEqual([])
      for (const odd of [`${id}0`, '%', 'x', '\0']) {
        expect(await completed(odd)).toEqual({ values: [], hasMore: false })
      }
    }
  })

  it('a client of 2025-11-25 subscribes to a task and is told of its changes until it unsubscribes', async () => {
    const served = await serve([])
    for (const isLocal of [false, true]) {
      const client = await (isLocal ? served.connectStdio : served.connect)('legacy', 'reader')
      const updated: string[] = []
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        updated.push(params.uri)
      })
      const [first, second] = [await created(client), await created(client)]
      const uri = `asyncgate://tasks/${first}`
      await client.subscribeResource({ uri })
      await client.subscribeResource({ uri: `asyncgate://tasks/${second}/result` })
      await client.unsubscribeResource({ uri: `asyncgate://tasks/${second}/result` })
      await complete(served, first, { sum: 2 })
      await until(() => updated.includes(uri))
      expect(new Set(updated)).toEqual(new Set([uri]))
      await expect(client.subscribeResource({ uri: `asyncgate://tasks/${ABSENT}` })).rejects.toThrow(
        /not found/,
      )
      const { task_id } = await served.gate.createTask(agent('other'), { type: 'sum' })
      const others = client.subscribeResource({ uri: `asyncgate://tasks/${task_id}` })
      // Without keys of people, and on the machine itself, a client finds every task by its id.
      const seesAll = isLocal || suiteAuthMode() !== 'shared key and admin keys'
      if (seesAll) await others
      else await expect(others).rejects.toThrow(/not found/)
    }
  })

  it('the prompt delegate tells a model how to delegate the work', async () => {
    const served = await serve([])
    for (const client of await clientsOf(served)) {
      const { prompts } = await client.listPrompts()
      expect(prompts).toMatchObject([
        { name: 'delegate', arguments: [{ name: 'work', required: true }, { name: 'type' }] },
      ])
      const { messages } = await client.getPrompt({
        name: 'delegate',
        arguments: { work: 'Sort it.', type: 'sort' },
      })
      const text = JSON.stringify(messages)
      for (const word of ['Sort it.', 'sort', 'create_task', 'wait_for_task', 'acknowledge']) {
        expect(text).toContain(word)
      }
      await expect(client.getPrompt({ name: 'delegate', arguments: {} })).rejects.toThrow('work')
      await expect(client.getPrompt({ name: 'other' })).rejects.toThrow('Unknown prompt')
    }
  })

  it('they are listed with those of upstreams, and no upstream can serve the scheme of the gate', async () => {
    const reads = new FixtureReads({
      prompts: [{ name: 'delegate' }],
      resources: [
        { uri: 'note://a', name: 'A' },
        { uri: `asyncgate://tasks/${ABSENT}`, name: 'Forged' },
      ],
    })
    const upstream = await httpFixture('modern', { reads })
    const served = await serve([web(upstream.url)], PRIVATE)
    const client = await served.connect('modern', 'reader')
    const task_id = await created(client)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual([
      `asyncgate://tasks/${task_id}`,
      `fix+asyncgate://tasks/${ABSENT}`,
      'fix+note://a',
    ])
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['delegate', 'fix__delegate'])
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'asyncgate://tasks/{id}',
      'asyncgate://tasks/{id}/result{?offset}',
    ])
    for (const uri of [`asyncgate://tasks/${ABSENT}`, `ASYNCGATE://tasks/${ABSENT}`, 'asyncgate://other']) {
      await expect(client.readResource({ uri })).rejects.toThrow('not found')
    }
  })

  it.each(['connect', 'connectStdio'] as const)(
    'a modern client subscribes to tasks with %s',
    async (how) => {
      const served = await serve([])
      const client = await served[how]('modern', 'reader')
      const task_id = await created(client)
      const uri = `asyncgate://tasks/${task_id}`
      const updated: string[] = []
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        updated.push(params.uri)
      })
      const { honoredFilter } = await client.listen({
        resourceSubscriptions: [uri, `asyncgate://tasks/${ABSENT}`],
      })
      expect(honoredFilter.resourceSubscriptions).toEqual([uri])
      await complete(served, task_id, { sum: 2 })
      await until(() => updated.includes(uri))
      expect(JSON.parse(textIn(await client.readResource({ uri })))).toMatchObject({ status: 'succeeded' })
    },
  )
})
