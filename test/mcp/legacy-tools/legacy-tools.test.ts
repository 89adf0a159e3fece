import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../../src/core/errors.ts'
import { EmailQueue } from '../../../src/email/queue.ts'
import type { Memory, MemoryNote } from '../../../src/features/results/result-store.ts'
import { LEGACY_TOOLS } from '../../../src/mcp/legacy-tools/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { MAIL } from '../../email/support.ts'
import { caller } from '../../support/gates.ts'
import { commonMail } from '../../support/tenants.ts'
import { bareCall, contentOf, type Options, startMcp } from '../endpoint.ts'
import { TRANSPORTS, type Transport } from './transports.ts'

const KEE = { agent_id: 'Kee' }
const W1 = { worker_id: 'w1' }
const kee = caller('agent', 'Kee', 'agent')

const text = z.string()
const RunView = z.looseObject({ task_id: text, run_id: text })

/** A memory that records its notes. */
class Notes implements Memory {
  readonly notes: MemoryNote[] = []

  async store(note: MemoryNote): Promise<string> {
    this.notes.push(note)
    return `memory-${this.notes.length}`
  }
}

const mail = (store: Store) => ({
  mail: commonMail(new EmailQueue({ entries: store.entries, settings: MAIL })),
})

async function queue({ call }: Transport, args: object = {}) {
  const { task_id } = await call('queue_task', { ...KEE, task_type: 'consult', params: { n: 1 }, ...args })
  return text.parse(task_id)
}

async function lease({ call }: Transport) {
  return RunView.parse(await call('worker_lease_task', { ...W1, task_types: ['consult'], lease_seconds: 60 }))
}

const POINTER = { result_channel: 'email', result_pointer: 'email:1@agents.example' }

/** A completed task whose result is stored inline. */
async function completed(transport: Transport, args: object = {}) {
  const task_id = await queue(transport, args)
  const { run_id } = await lease(transport)
  const done = { task_id, run_id, ...POINTER, summary: 'Three models agree', result: { yes: 3 } }
  expect(await transport.call('worker_complete_task', done)).toMatchObject({ status: 'completed' })
  return task_id
}

async function unread({ call }: Transport, who: object = KEE) {
  const { notifications } = await call('get_notifications', who)
  return z.array(z.looseObject({ id: text, task_id: text })).parse(notifications)
}

describe.each(Object.entries(TRANSPORTS))('the legacy tools over %s', (_, open) => {
  const start = (options: Options = {}) => open(options)

  it('all legacy tools are listed after the others', async () => {
    const { list } = await start()
    const names = await list()
    expect(names.slice(-LEGACY_TOOLS.length)).toEqual(LEGACY_TOOLS.map((tool) => tool.name))
    expect(names).toContain('asyncgate_create_task')
  })

  it('queue_task queues a task and returns its estimates', async () => {
    const transport = await start()
    const admin = caller('human', 'root', 'admin')
    await transport.gate.registerTaskType(admin, {
      type: 'consult',
      estimated_runtime_seconds: 120,
      poll_suggestion_seconds: 60,
    })
    const asked = {
      ...KEE,
      task_type: 'consult',
      params: { prompt: 'why' },
      priority: 8,
      idempotency_key: 'k',
    }
    const first = await transport.call('queue_task', asked)
    expect(first).toEqual({
      task_id: expect.any(String),
      status: 'queued',
      is_duplicate: false,
      estimated_runtime_seconds: 120,
      poll_suggestion_seconds: 60,
      inbox_on_complete: true,
      receipt_id: expect.any(String),
    })
    expect(await transport.call('queue_task', asked)).toMatchObject({
      task_id: first.task_id,
      status: 'duplicate',
      is_duplicate: true,
    })
    expect(await transport.gate.getTask(kee, { task_id: first.task_id })).toMatchObject({
      type: 'consult',
      payload: { prompt: 'why' },
      priority: 3,
      principal_ai: 'Kee',
      created_by: { kind: 'agent', id: 'Kee' },
    })
    expect(await transport.call('queue_task', { ...KEE, task_type: 'other' })).toMatchObject({
      estimated_runtime_seconds: null,
      poll_suggestion_seconds: null,
    })
  })

  it('check_task_status and list_active_tasks follow a task and its progress', async () => {
    const transport = await start()
    const { call } = transport
    const task_id = await queue(transport, { priority: 10 })
    const check = () => call('check_task_status', { ...KEE, task_id })
    const listed = () => call('list_active_tasks', KEE)
    expect(await check()).toEqual({
      task_id,
      task_type: 'consult',
      status: 'queued',
      progress_percent: null,
      progress_message: null,
      created_at: expect.any(String),
      started_at: null,
      completed_at: null,
      retry_count: 0,
      can_retry: true,
      error: null,
    })
    expect(await listed()).toMatchObject({
      tasks: [{ task_id, type: 'consult', status: 'queued', priority: 10, recipient_ai: 'Kee' }],
    })
    const run = await lease(transport)
    expect(run).toMatchObject({ task_id, task_type: 'consult', params: { n: 1 }, metadata: { attempt: 0 } })
    const beat = { task_id, run_id: run.run_id, progress_percent: 45.5, progress_message: '450/1000' }
    expect(await call('worker_heartbeat_task', { ...beat, extend_lease_seconds: 300 })).toEqual({
      status: 'ok',
      lease_expires_at: expect.any(String),
    })
    expect(await check()).toMatchObject({
      status: 'running',
      progress_percent: 45.5,
      progress_message: '450/1000',
      started_at: expect.any(String),
    })
    expect(await listed()).toMatchObject({ tasks: [{ status: 'running', progress: { percent: 45.5 } }] })
    expect(await call('get_task_progress', { ...KEE, task_id })).toMatchObject({
      task_id,
      progress: [{ percent: 45.5, message: '450/1000', updated_at: expect.any(String) }],
    })
    const failing = { task_id, run_id: run.run_id, error_message: 'timeout', retryable: true }
    expect(await call('worker_fail_task', failing)).toEqual({
      status: 'failed',
      will_retry: true,
      retry_scheduled_at: expect.any(String),
    })
    expect(await check()).toMatchObject({ status: 'queued', retry_count: 1, can_retry: false })
    expect(await call('cancel_task', { ...KEE, task_id })).toEqual({
      task_id,
      cancelled: true,
      status: 'canceled',
    })
    expect(await call('cancel_task', { ...KEE, task_id })).toMatchObject({ cancelled: false })
    expect(await listed()).toEqual({ tasks: [] })
  })

  it('check_task_status distinguishes complete, failed and dead_letter', async () => {
    const transport = await start({ parts: () => ({ settings: { default_max_attempts: 1 } }) })
    const status = async (task_id: string) =>
      (await transport.call('check_task_status', { ...KEE, task_id })).status
    expect(await status(await completed(transport))).toBe('complete')
    for (const [retryable, ending] of [
      [true, 'dead_letter'],
      [false, 'failed'],
    ] as const) {
      const task_id = await queue(transport)
      const { run_id } = await lease(transport)
      const failing = { task_id, run_id, error_message: 'no', retryable, metadata: { http_status: 504 } }
      expect(await transport.call('worker_fail_task', failing)).toEqual({
        status: ending,
        will_retry: false,
        notification_sent: true,
      })
      expect(await status(task_id)).toBe(ending)
    }
    expect(await transport.call('worker_lease_task', { ...W1, task_types: ['consult'] })).toEqual({
      task_id: null,
      message: 'No tasks available',
    })
    const types = await transport.call('get_notifications', KEE)
    expect(types).toMatchObject({
      notifications: [
        { notification_type: 'task_failed', status: 'failed' },
        { notification_type: 'task_dead_letter', status: 'dead_letter' },
        { notification_type: 'task_complete', status: 'complete', summary: 'Three models agree' },
      ],
    })
  })

  it('a result can be read from its notification, fetched and stored in memory', async () => {
    const notes = new Notes()
    const transport = await start({ parts: () => ({ memory: notes }) })
    const { call } = transport
    const task_id = await completed(transport)
    const boot = await call('async_bootstrap', { ai_name: 'Kee', ai_platform: 'Claude' })
    expect(boot).toMatchObject({
      ai_name: 'Kee',
      unread_count: 1,
      notifications: [{ task_id, delivery_count: 1, read_at: null }],
      active_tasks: [],
      server: { name: 'AsyncGate' },
    })
    const [{ id } = { id: '' }] = await unread(transport)
    const read = await call('read_notification', { ...KEE, id })
    expect(read).toMatchObject({
      id,
      task_id,
      task_type: 'consult',
      notification_type: 'task_complete',
      delivery_count: 2,
      read_at: expect.any(String),
      fetched_at: null,
    })
    expect(await unread(transport)).toEqual([])
    expect(await call('fetch_task_result', { ...KEE, task_id })).toMatchObject({
      channel: 'inline',
      content: { yes: 3 },
      checksum_valid: true,
      metadata: { type: 'consult' },
    })
    const stored = await call('store_task_result_in_memory', { ...KEE, task_id, domain: 'patterns' })
    expect(stored).toEqual({
      memory_id: 'memory-1',
      notification_archived: true,
      promoted_at: expect.any(String),
      // The task itself contains the result.
      result_archived: false,
    })
    expect(notes.notes).toMatchObject([
      { kind: 'observation', domain: 'patterns', principal_ai: 'Kee', task_id, content: { yes: 3 } },
    ])
    const all = await call('get_notifications', { ...KEE, unread_only: false })
    expect(all).toMatchObject({
      notifications: [
        {
          id,
          fetched_at: expect.any(String),
          promoted_to_memory_at: stored.promoted_at,
          archived_at: expect.any(String),
        },
      ],
    })
    expect(await call('async_bootstrap', { ai_name: 'Kee' })).toMatchObject({
      unread_count: 0,
      notifications: [],
    })
  })

  it('archive_notification and archive_task_result archive a notification and a result', async () => {
    const transport = await start()
    const task_id = await completed(transport)
    const [{ id } = { id: '' }] = await unread(transport)
    const archived = await transport.call('archive_notification', { ...KEE, notification_id: id })
    expect(archived).toMatchObject({ id, archived_at: expect.any(String), read_at: null })
    expect(await unread(transport)).toEqual([])
    expect(await transport.call('archive_task_result', { ...KEE, task_id })).toEqual({
      task_id,
      archived: true,
      archived_at: expect.any(String),
    })
  })

  it('a task queued for a recipient is routed to that recipient', async () => {
    const transport = await start()
    const task_id = await queue(transport, { recipient_ai: 'Hexy' })
    expect(await transport.call('list_active_tasks', KEE)).toEqual({ tasks: [] })
    for (const who of [{ ...KEE, recipient_ai: 'Hexy' }, { agent_id: 'Hexy' }, { recipient_ai: 'Hexy' }]) {
      expect(await transport.call('list_active_tasks', who)).toMatchObject({ tasks: [{ task_id }] })
    }
    const { run_id } = await lease(transport)
    await transport.call('worker_complete_task', { task_id, run_id, ...POINTER })
    expect(await unread(transport, { agent_id: 'Hexy' })).toMatchObject([{ task_id }])
    expect(await transport.call('fetch_task_result', { agent_id: 'Hexy', task_id })).toMatchObject({
      code: 'CHANNEL_NOT_CONFIGURED',
    })
  })

  it('send_email sends email, and the email of a task can be read', async () => {
    const transport = await start({ parts: mail })
    const sent = await transport.call('send_email', {
      ...KEE,
      to: 'gate+hexy@agents.example',
      subject: 'Review',
      body: 'all is well',
    })
    expect(sent).toEqual({ message_id: expect.any(String), status: 'pending' })
    const task_id = await queue(transport)
    await transport.gate.sendEmail(kee, {
      to: 'friend@elsewhere.example',
      subject: 'Results',
      body: { models: 3 },
      task_id,
      attachments: [{ filename: 'a.txt', content: 'aGk=' }],
    })
    expect(await transport.call('fetch_task_email', { ...KEE, task_id })).toMatchObject({
      subject: 'Results',
      body: { models: 3 },
      attachments: [{ filename: 'a.txt', content: 'aGk=' }],
      message_id: expect.any(String),
    })
  })

  it.each([
    ['queue_task', { ...KEE }, 'VALIDATION_ERROR'],
    ['queue_task', { ...KEE, task_type: 'a', priority: 11 }, 'VALIDATION_ERROR'],
    ['queue_task', { ...KEE, task_type: 'a', type: 'a' }, 'VALIDATION_ERROR'],
    ['queue_task', { ...KEE, task_type: 'a', tenant_id: 'other' }, 'FORBIDDEN'],
    ['check_task_status', { ...KEE, task_id: 'none' }, 'TASK_NOT_FOUND'],
    ['get_task_progress', { ...KEE, task_id: 'none' }, 'TASK_NOT_FOUND'],
    ['list_active_tasks', { ...KEE, recipient_ai: '' }, 'VALIDATION_ERROR'],
    ['cancel_task', { ...KEE, task_id: 'none' }, 'TASK_NOT_FOUND'],
    ['fetch_task_result', { ...KEE, task_id: 'none' }, 'TASK_NOT_FOUND'],
    ['fetch_task_email', { ...KEE, task_id: '00000000-0000-7000-8000-000000000000' }, 'NOT_CONFIGURED'],
    ['archive_task_result', { ...KEE, task_id: 'none' }, 'TASK_NOT_FOUND'],
    ['send_email', { ...KEE, to: 'a@b.example', subject: 's', body: 'b' }, 'NOT_CONFIGURED'],
    [
      'store_task_result_in_memory',
      { ...KEE, task_id: '00000000-0000-7000-8000-000000000000' },
      'NOT_CONFIGURED',
    ],
    ['get_notifications', { ...KEE, limit: 0 }, 'VALIDATION_ERROR'],
    ['read_notification', { ...KEE }, 'VALIDATION_ERROR'],
    ['read_notification', { ...KEE, id: 'a', notification_id: 'b' }, 'VALIDATION_ERROR'],
    ['archive_notification', { ...KEE, id: 'none' }, 'RECEIPT_NOT_FOUND'],
    ['async_bootstrap', { ai_name: 7 }, 'VALIDATION_ERROR'],
    ['worker_lease_task', { task_types: ['a'] }, 'VALIDATION_ERROR'],
    ['worker_heartbeat_task', { task_id: 'none', run_id: 'r' }, 'TASK_NOT_FOUND'],
    ['worker_complete_task', { ...W1, task_id: 'none', run_id: 'r', result_pointer: 'p' }, 'TASK_NOT_FOUND'],
    ['worker_fail_task', { ...W1, task_id: 'none', run_id: 'r', error_message: 'e' }, 'TASK_NOT_FOUND'],
  ])('%s refuses %j', async (name, args, code) => {
    const { call } = await start()
    expect(await call(name, args)).toMatchObject({ code, hint: expect.any(String) })
  })
})

describe('legacy worker tools', () => {
  it('a run that another process leased is known', async () => {
    const transport = await TRANSPORTS['2026-07-28']?.({})
    if (transport === undefined) return expect.unreachable()
    const task_id = await queue(transport)
    const worker = caller('worker', 'w1', 'worker')
    const { tasks } = await transport.gate.leaseNext(worker, { worker_id: 'w1' })
    const run = { task_id, run_id: tasks[0]?.lease_id }
    expect(await transport.call('worker_heartbeat_task', run)).toMatchObject({ status: 'ok' })
    expect(await transport.call('worker_heartbeat_task', { ...run, worker_id: 'w2' })).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
    })
    expect(await transport.call('worker_complete_task', { ...run, ...POINTER })).toMatchObject({
      status: 'completed',
    })
    expect(await transport.call('worker_heartbeat_task', run)).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'succeeded' },
    })
  })

  it('worker_complete_task is idempotent', async () => {
    const transport = await TRANSPORTS['2026-07-28']?.({})
    if (transport === undefined) return expect.unreachable()
    const task_id = await queue(transport)
    const { run_id } = await lease(transport)
    const done = { task_id, run_id, ...POINTER }
    const first = await transport.call('worker_complete_task', done)
    expect(await transport.call('worker_complete_task', done)).toEqual(first)
  })
})

describe('memory failures', () => {
  it('a failing memory changes nothing', async () => {
    const refusing: Memory = {
      store: async () => {
        throw new Fault('MEMORY_UNAVAILABLE')
      },
    }
    const transport = await TRANSPORTS['2026-07-28']?.({ parts: () => ({ memory: refusing }) })
    if (transport === undefined) return expect.unreachable()
    const task_id = await completed(transport)
    const stored = await transport.call('store_task_result_in_memory', { ...KEE, task_id })
    expect(stored).toMatchObject({ code: 'MEMORY_UNAVAILABLE', retryable: true })
    expect(await transport.call('get_notifications', { ...KEE, unread_only: false })).toMatchObject({
      notifications: [{ task_id, promoted_to_memory_at: null, archived_at: null }],
    })
  })
})

describe('disabled legacy tools', () => {
  it('the legacy tools are neither listed nor callable', async () => {
    const server = await startMcp()
    const { body } = await server.modern('tools/list')
    const names = z
      .array(z.looseObject({ name: text }))
      .parse(body?.result?.tools)
      .map((tool) => tool.name)
    expect(names.filter((name) => LEGACY_TOOLS.some((tool) => tool.name === name))).toEqual([])
    for (const { name } of LEGACY_TOOLS) {
      expect((await server.call(name, KEE)).body?.error).toMatchObject({ code: -32602 })
      expect((await server.post(bareCall(name, KEE))).body?.error).toMatchObject({ code: -32602 })
    }
    expect(contentOf(await server.call('asyncgate.health'))).toMatchObject({ status: 'healthy' })
  })
})
