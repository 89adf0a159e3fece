import { describe, expect, it } from 'vitest'
import type { JsonFields } from '../equivalence/step.ts'
import { type Bench, describeGates } from '../support/gates.ts'
import { alternating, MODES, type Mode, PROTOCOLS, type Protocol, type Reachable } from '../support/modes.ts'
import { members, serveGate } from './support.ts'

const ALICE = { agent_id: 'alice' }
const W1 = { worker_id: 'w1' }

/** One client of a deployment: an agent, a worker and a person who call over the same protocol. */
class Caller {
  readonly #to: Reachable
  readonly #mode: Mode
  readonly #protocol: Protocol

  constructor(to: Reachable, mode: Mode, protocol: Protocol) {
    this.#to = to
    this.#mode = mode
    this.#protocol = protocol
  }

  async refusal(operation: string, fields: JsonFields): Promise<string | undefined> {
    return (await this.#protocol.call(this.#to, operation, fields, this.#mode.headers)).code
  }

  async as(who: JsonFields, operation: string, fields: JsonFields = {}) {
    const all = { ...who, ...fields }
    const { body, code } = await this.#protocol.call(this.#to, operation, all, this.#mode.headers)
    expect(code, JSON.stringify(body)).toBeUndefined()
    return body
  }

  async person(operation: string, fields: JsonFields) {
    const { headers, fields: named } = this.#mode.person
    const { body, code } = await this.#protocol.call(this.#to, operation, { ...named, ...fields }, headers)
    expect(code, JSON.stringify(body)).toBeUndefined()
    return body
  }

  /** A task of alice's. */
  async created(fields: JsonFields = {}): Promise<string> {
    return String((await this.as(ALICE, 'create_task', { type: 'job', ...fields })).task_id)
  }

  /** The task in the hands of w1: what the calls about its lease name. */
  async claimed(task_id: string) {
    const { tasks } = await this.as(W1, 'lease_next', { accept_types: ['job'] })
    const [offer] = Array.isArray(tasks) ? tasks.map(members) : []
    expect(offer?.task_id).toBe(task_id)
    return { ...W1, task_id, lease_id: String(offer?.lease_id) }
  }

  async status(task_id: string) {
    return (await this.as(ALICE, 'get_task', { task_id })).status
  }
}

const FLOWS: Readonly<Record<string, (caller: Caller) => Promise<void>>> = {
  async 'own as service:operator what nobody in particular creates, read it, and not approve it'(caller) {
    await caller.person('put_policy', { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type: 'job' } })
    const { task_id } = await caller.as({}, 'create_task', { type: 'job' })
    expect(await caller.as({}, 'get_task', { task_id: String(task_id) })).toMatchObject({
      status: 'pending_approval',
      created_by: { kind: 'service', id: 'operator' },
    })
    expect(await caller.refusal('approve', { task_id: String(task_id) })).toBe('FORBIDDEN')
    await caller.person('approve', { task_id: String(task_id) })
    expect((await caller.as({}, 'get_task', { task_id: String(task_id) })).status).toBe('queued')
  },

  async 'create, claim, renew, report progress and complete'(caller) {
    const task_id = await caller.created({ payload: { n: 1 } })
    const lease = await caller.claimed(task_id)
    await caller.as(lease, 'start_task')
    await caller.as(lease, 'renew_lease', { extend_by_seconds: 60 })
    await caller.as(lease, 'report_progress', { progress: { percent: 50 } })
    expect(await caller.status(task_id)).toBe('running')
    await caller.as(lease, 'complete', { result: { sum: 2 } })
    const waited = await caller.as(ALICE, 'wait_for_task', { task_id, wait_seconds: 0 })
    expect(waited).toMatchObject({ status: 'succeeded', done: true, result: { result: { sum: 2 } } })
  },

  async 'fail and retry'(caller) {
    const task_id = await caller.created({ max_attempts: 1 })
    const lease = await caller.claimed(task_id)
    await caller.as(lease, 'fail', { error: { message: 'no' }, retryable: false })
    expect(await caller.status(task_id)).toBe('failed')
    const again = String((await caller.as(ALICE, 'retry_task', { task_id })).task_id)
    await caller.as(await caller.claimed(again), 'complete', { result: {} })
    expect(await caller.status(again)).toBe('succeeded')
  },

  async release(caller) {
    const task_id = await caller.created()
    await caller.as(await caller.claimed(task_id), 'release_lease')
    expect(await caller.status(task_id)).toBe('queued')
    await caller.claimed(task_id)
  },

  async 'ask and answer'(caller) {
    const task_id = await caller.created()
    const lease = await caller.claimed(task_id)
    await caller.as(lease, 'ask', { kind: 'input', request: { message: 'Which one?' } })
    expect(await caller.status(task_id)).toBe('input_required')
    await caller.as(ALICE, 'answer_question', { task_id, content: { which: 'this' } })
    await caller.as(await caller.claimed(task_id), 'complete', { result: {} })
    expect(await caller.status(task_id)).toBe('succeeded')
  },

  async 'ask for approval and approve'(caller) {
    const task_id = await caller.created()
    const lease = await caller.claimed(task_id)
    await caller.as(lease, 'ask', { kind: 'approval', request: { title: 'Go on?' } })
    expect(await caller.refusal('approve', { ...ALICE, task_id })).toBe('FORBIDDEN')
    expect(await caller.person('get_approval', { task_id })).toMatchObject({
      state: 'open',
      origin: 'worker',
    })
    expect(await caller.person('approve', { task_id })).toMatchObject({ state: 'approved' })
    await caller.as(await caller.claimed(task_id), 'complete', { result: {} })
    expect(await caller.status(task_id)).toBe('succeeded')
  },

  async cancel(caller) {
    const task_id = await caller.created()
    const lease = await caller.claimed(task_id)
    await caller.as(ALICE, 'cancel_task', { task_id })
    expect(await caller.status(task_id)).toBe('canceled')
    expect(await caller.refusal('complete', { ...lease, result: {} })).toBe('LEASE_INVALID_OR_EXPIRED')
  },

  async 'read the inbox and the receipts, and acknowledge'(caller) {
    const task_id = await caller.created()
    await caller.as(await caller.claimed(task_id), 'complete', {
      result: { ok: true },
      artifacts: [{ type: 'file', pointer: 'file:/report' }],
    })
    expect((await caller.as(ALICE, 'list_inbox')).items).toMatchObject([{ task_id }])
    const page = await caller.as(ALICE, 'list_receipts', { task_id, receipt_type: 'task.result_ready' })
    const [receipt] = Array.isArray(page.receipts) ? page.receipts.map(members) : []
    await caller.as(ALICE, 'ack_receipt', { receipt_id: String(receipt?.receipt_id) })
    expect((await caller.as(ALICE, 'list_inbox')).items).toEqual([])
  },
}

describeGates('main flows', (open, storeName) => {
  const deployments: Readonly<Record<string, (bench: Bench, mode: Mode) => Promise<Reachable>>> = {
    'one server': ({ gate }, { auth }) => serveGate(gate, { auth }),
    ...(storeName === 'postgres' && {
      'two servers in turn': async ({ gate, another }: Bench, { auth }: Mode) =>
        alternating(await serveGate(gate, { auth }), await serveGate((await another()).gate, { auth })),
    }),
  }
  for (const [where, serve] of Object.entries(deployments)) {
    for (const mode of MODES) {
      for (const protocol of PROTOCOLS) {
        describe(`${where}, ${mode.name}, ${protocol.name}`, () => {
          it.each(Object.entries(FLOWS))('%s', async (_, flow) => {
            const reachable = await serve(await open(), mode)
            await flow(new Caller(reachable, mode, protocol))
          })
        })
      }
    }
  }

  it('a server with a key lets nobody in without it', async () => {
    for (const mode of MODES.filter(({ auth }) => auth.api_key !== null)) {
      const { gate } = await open()
      const served = await serveGate(gate, { auth: mode.auth })
      for (const protocol of PROTOCOLS) {
        const { code } = await protocol.call(served, 'create_task', { type: 'job', ...ALICE }, {})
        expect(code).toBe('UNAUTHENTICATED')
      }
    }
  })
})
