import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callerOf } from '../../../src/auth/caller.ts'
import { findOperation, OPERATIONS } from '../../../src/features/catalogue.ts'
import { LEGACY_TOOLS } from '../../../src/mcp/legacy-tools/index.ts'
import { gateTools } from '../../../src/mcp/tools/operation-tools.ts'
import { repositoryText } from '../../core/documents.ts'
import { openWorld, storeNames, type World } from '../../equivalence/world.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'

type Fields = Readonly<Record<string, unknown>>
type Call = (name: string, fields: Fields) => Promise<Fields>

const Answer = z.record(z.string(), z.unknown())

const KEE = { agent_id: 'Kee' }
const W1 = { worker_id: 'w1' }
const CREDENTIAL = { kind: 'shared', tenant: 'default' } as const
const POINTER = { pointer: 's3:bucket/key', channel: 's3', checksum: 'abc' }

/** The same work with the legacy tools and with the operations. */
const SCENARIOS: Readonly<Record<string, { old: Scenario; now: Scenario }>> = {
  'work that succeeds': {
    old: async ({ call }) => {
      const { task_id } = await call('queue_task', {
        ...KEE,
        task_type: 'consult',
        params: { prompt: 'why' },
        priority: 7,
        recipient_ai: 'Hexy',
        idempotency_key: 'k',
      })
      const { run_id } = await call('worker_lease_task', {
        ...W1,
        task_types: ['consult'],
        lease_seconds: 60,
      })
      const run = { task_id, run_id }
      await call('worker_heartbeat_task', { ...run, progress_percent: 50, extend_lease_seconds: 90 })
      await call('worker_complete_task', {
        ...run,
        result_pointer: POINTER.pointer,
        result_channel: POINTER.channel,
        result_checksum: POINTER.checksum,
        summary: 'done',
        metadata: { tokens: 9 },
      })
    },
    now: async ({ call }) => {
      const { task_id } = await call('create_task', {
        ...KEE,
        type: 'consult',
        payload: { prompt: 'why' },
        priority: 2,
        principal_ai: 'Hexy',
        idempotency_key: 'k',
      })
      const { tasks } = await call('lease_next', { ...W1, accept_types: ['consult'], lease_ttl_seconds: 60 })
      const held = { ...W1, task_id, lease_id: leaseIn(tasks) }
      await call('report_progress', { ...held, progress: { percent: 50 }, extend_by_seconds: 90 })
      await call('complete', {
        ...held,
        result: POINTER,
        artifacts: [POINTER],
        result_summary: 'done',
        completion_metadata: { tokens: 9 },
      })
    },
  },
  'work that fails, and work that is canceled': {
    old: async ({ call }) => {
      const { task_id } = await call('queue_task', { ...KEE, task_type: 'a', params: {} })
      const { run_id } = await call('worker_lease_task', { ...W1, task_types: ['a'] })
      await call('worker_fail_task', {
        task_id,
        run_id,
        error_message: 'no',
        retryable: false,
        metadata: { n: 1 },
      })
      const other = await call('queue_task', { ...KEE, task_type: 'b', params: {} })
      await call('cancel_task', { ...KEE, task_id: other.task_id })
    },
    now: async ({ call }) => {
      const { task_id } = await call('create_task', { ...KEE, type: 'a', payload: {} })
      const { tasks } = await call('lease_next', { ...W1, accept_types: ['a'] })
      const held = { ...W1, task_id, lease_id: leaseIn(tasks) }
      await call('fail', { ...held, error: { message: 'no', metadata: { n: 1 } }, retryable: false })
      const other = await call('create_task', { ...KEE, type: 'b', payload: {} })
      await call('cancel_task', { ...KEE, task_id: other.task_id })
    },
  },
  'an inbox that is read and put away': {
    old: async ({ call, clock }) => {
      const { task_id } = await call('queue_task', { ...KEE, task_type: 'a', params: {} })
      await call('cancel_task', { ...KEE, task_id })
      clock.advance(1)
      const { notifications } = await call('get_notifications', KEE)
      const id = idIn(notifications, 'id')
      clock.advance(1)
      await call('read_notification', { ...KEE, id })
      clock.advance(1)
      await call('archive_notification', { ...KEE, id })
    },
    now: async ({ call, clock }) => {
      const { task_id } = await call('create_task', { ...KEE, type: 'a', payload: {} })
      await call('cancel_task', { ...KEE, task_id })
      clock.advance(1)
      const { items } = await call('list_inbox', { ...KEE, order: 'newest' })
      const receipt_ids = [idIn(items, 'receipt_id')]
      clock.advance(1)
      await call('mark_inbox', { ...KEE, receipt_ids, as: 'read' })
      clock.advance(1)
      await call('mark_inbox', { ...KEE, receipt_ids, as: 'archived' })
    },
  },
}

type Scenario = (context: { readonly call: Call; readonly clock: World['clock'] }) => Promise<void>

function leaseIn(tasks: unknown): unknown {
  return idIn(tasks, 'lease_id')
}

function idIn(list: unknown, name: string): unknown {
  const [first] = Array.isArray(list) ? list : []
  if (typeof first !== 'object' || first === null) throw new Error('the list is empty')
  return Reflect.get(first, name)
}

/** Calls through the legacy tools. */
function legacyCalls({ gate, errors }: World): Call {
  const tools = gateTools({ gate, legacyTools: true, onError: (error) => errors.push(error) })
  return async (name, fields) => {
    const run = await tools.find(name, CREDENTIAL)
    if (typeof run !== 'function') throw new Error(`there is no tool ${name}`)
    const { isError, structuredContent } = await run(fields, {
      credential: CREDENTIAL,
      listing: PROGRAM_LISTING,
      signal: new AbortController().signal,
    })
    if (isError) throw new Error(`${name} was refused: ${JSON.stringify(structuredContent)}`)
    return Answer.parse(structuredContent)
  }
}

/** Calls of the operations. */
function operationCalls({ gate }: World): Call {
  return async (name, fields) => {
    const operation = findOperation(name)
    if (operation === undefined) throw new Error(`there is no operation ${name}`)
    const { caller, input } = callerOf(CREDENTIAL, operation, fields)
    return { ...(await gate.call(operation, caller, input)) }
  }
}

async function effectsOf(
  storeName: 'sqlite' | 'postgres',
  scenario: Scenario,
  calls: (world: World) => Call,
) {
  const world = await openWorld(storeName, 7, {})
  onTestFinished(() => world.close())
  await scenario({ call: calls(world), clock: world.clock })
  const { reads } = world.store
  const { tenant } = await world.store.tenant('default')
  const lines = await reads.scan(tenant, { by: 'all' }, Number.MAX_SAFE_INTEGER, 100)
  const ids = lines.map((line) => line.task_id)
  const tasks = await reads.tasks(tenant, ids)
  return {
    errors: world.errors,
    tasks: tasks.toSorted((a, b) => a.task.seq - b.task.seq),
    receipts: await reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 1000),
    kee: await reads.inbox(tenant, 'agent:Kee', 'all', 0, 'ascending', 100),
    hexy: await reads.inbox(tenant, 'agent:Hexy', 'all', 0, 'ascending', 100),
  }
}

describe.each(storeNames())('legacy tools on %s', (storeName) => {
  it.each(Object.entries(SCENARIOS))(
    '%s has the same effects through legacy tools and operations',
    async (_, { old, now }) => {
      const before = await effectsOf(storeName, old, legacyCalls)
      const after = await effectsOf(storeName, now, operationCalls)
      expect(before).toEqual(after)
      expect(before.errors).toEqual([])
      expect(before.receipts.length).toBeGreaterThan(2)
      expect(before.kee).not.toEqual([])
    },
  )
})

describe('docs/old-names.md', () => {
  const rows = [...repositoryText('docs/old-names.md').matchAll(/^\| `(\w+)` \| (.*?) \|/gm)]

  it('the page lists every legacy tool once, in order, with its replacement', () => {
    expect(rows.map(([, name]) => name)).toEqual(LEGACY_TOOLS.map((tool) => tool.name))
    for (const [i, tool] of LEGACY_TOOLS.entries()) {
      expect(rows[i]?.[2], tool.name).toContain(`\`${tool.now}\``)
    }
  })

  it('the page names only existing operations', () => {
    const named = rows.flatMap(([, , now = '']) => [...now.matchAll(/`(\w+)`/g)].map(([, name]) => name))
    const known = OPERATIONS.map((operation) => operation.name)
    expect(named.filter((name) => name !== undefined && !known.includes(name))).toEqual([])
  })
})
