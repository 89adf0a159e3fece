import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { askApproval, awaitingInput, pending, person } from '../../support/questions.ts'
import {
  ask,
  claim,
  finish,
  held,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
  refusals,
  statusOf,
} from '../../support/steps.ts'

const answered = async (gate: Gate, task: { readonly task_id: string }) =>
  (await receiptsOf(gate, task)).filter(({ receipt_type }) => receipt_type === 'question.answered')

describeGates('a task that waits for an approval', (open) => {
  it('ask parks the task without a lease and shows the question', async () => {
    const { gate, clock } = await open()
    const { task_id } = await pending(
      gate,
      { payload: { folder: '/tmp/x' } },
      { request: { title: 'Delete /tmp/x?', show: { files: 3 } } },
    )
    const task = await look(gate, { task_id })
    expect(task).toMatchObject({
      status: 'pending_approval',
      attempt: 0,
      started_at: null,
      payload: { folder: '/tmp/x' },
      question: {
        n: 1,
        kind: 'approval',
        request: { title: 'Delete /tmp/x?', show: { files: 3 } },
        asked_by: { kind: 'worker', id: 'w1' },
        origin: 'worker',
        asked_at: new Date(clock.now).toISOString(),
        expires_at: null,
      },
    })
    expect(task.lease).toBeUndefined()
    expect(await claim(gate)).toEqual([])
    clock.advance(365 * 24 * 3600)
    expect(await gate.sweep()).toBe(0)
    expect(await statusOf(gate, { task_id })).toBe('pending_approval')
    expect(await openTasks(gate)).toEqual([task_id])
  })

  it('an approved task continues and the worker receives the answer', async () => {
    const { gate, clock } = await open()
    const { task_id } = await pending(gate)
    clock.advance(3 * 3600)
    const answer = await gate.approve(person(), { task_id, n: 1, comment: 'go ahead' })
    const decided_at = new Date(clock.now).toISOString()
    const decided_by = { kind: 'human', id: 'paul' }
    expect(answer).toMatchObject({ ok: true, task_id, n: 1, state: 'approved', status: 'queued' })
    expect(answer).toMatchObject({ decided_by, decided_at })
    expect(await look(gate, { task_id })).toMatchObject({ status: 'queued', question: null })
    const offer = await lease(gate)
    expect(offer).toMatchObject({ task_id, fence: 2, attempt: 0 })
    expect(offer.answers).toEqual([
      {
        n: 1,
        kind: 'approval',
        request: { title: 'Delete the folder?' },
        asked_by: { kind: 'worker', id: 'w1' },
        origin: 'worker',
        state: 'approved',
        answer: { comment: 'go ahead' },
        decided_by,
        decided_at,
        content_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
    ])
    await finish(gate, offer)
    expect(await receiptTypes(gate, { task_id })).toEqual([
      'task.assigned',
      'task.accepted',
      'question.asked',
      'question.answered',
      'task.accepted',
      'task.completed',
      'task.result_ready',
    ])
    expect(await openTasks(gate)).toEqual([])
  })

  it('a denied task is canceled and its owner receives the reason', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    const answer = await gate.deny(person(), { task_id, reason: 'not on a Friday' })
    expect(answer).toMatchObject({ state: 'denied', status: 'canceled' })
    expect(await look(gate, { task_id })).toMatchObject({
      status: 'canceled',
      question: null,
      result: { outcome: 'canceled', error: { code: 'APPROVAL_DENIED', message: 'not on a Friday' } },
    })
    expect(await claim(gate)).toEqual([])
    expect(await openTasks(gate)).toEqual([])
    const [, , , answer1, canceled] = await receiptsOf(gate, { task_id })
    expect(answer1).toMatchObject({
      receipt_type: 'question.answered',
      from: { kind: 'human', id: 'paul' },
      to: { kind: 'agent', id: 'alice' },
      body: { kind: 'approval', n: 1, decision: 'denied' },
    })
    expect(canceled).toMatchObject({ receipt_type: 'task.canceled', from: { kind: 'human', id: 'paul' } })
  })

  it('question receipts refer to each other and contain hashes instead of texts', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate, {}, { request: { title: 'the secret plan' } })
    await gate.approve(person(), { task_id, comment: 'a secret comment' })
    const receipts = await receiptsOf(gate, { task_id })
    const [assigned, , asked, decided] = receipts
    expect(asked?.parents).toEqual([assigned?.receipt_id])
    expect(decided?.parents).toEqual([assigned?.receipt_id, asked?.receipt_id])
    expect(asked?.body).toMatchObject({ request_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) })
    expect(decided?.body).toMatchObject({ answer_hash: expect.stringMatching(/^sha256:/) })
    expect(JSON.stringify(receipts)).not.toContain('secret')
  })

  it('calls under the lease that ended with ask are refused', async () => {
    const { gate } = await open()
    const { offer, task_id } = await pending(gate)
    const calls = [
      gate.startTask(worker(), held(offer)),
      gate.renewLease(worker(), held(offer)),
      gate.reportProgress(worker(), { ...held(offer), progress: {} }),
      gate.complete(worker(), { ...held(offer), result: 1, artifacts: ['x'] }),
      gate.fail(worker(), { ...held(offer), error: {} }),
      gate.releaseLease(worker(), held(offer)),
      gate.ask(worker(), { ...held(offer), kind: 'input', request: { message: 'And which?' } }),
    ]
    for (const answer of await refusals(calls)) {
      expect(answer).toMatchObject({
        code: 'LEASE_INVALID_OR_EXPIRED',
        details: { task_status: 'pending_approval' },
      })
    }
    await gate.approve(person(), { task_id })
    expect(await refusal(gate.complete(worker(), { ...held(offer), result: 1 }))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'queued' },
    })
  })

  it('ask is idempotent for the same question, also after the decision', async () => {
    const { gate } = await open()
    const { offer, task_id, ...first } = await pending(gate)
    expect(await askApproval(gate, offer)).toMatchObject({ task_id, ...first })
    await gate.approve(person(), { task_id })
    const again = await askApproval(gate, offer)
    expect(again).toMatchObject({ n: 1, receipt_id: first.receipt_id, status: 'queued' })
    expect((await receiptTypes(gate, { task_id })).filter((type) => type === 'question.asked')).toHaveLength(
      1,
    )
  })

  it('an approved task keeps its place before younger tasks of its owner', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    const younger = await ask(gate)
    await gate.approve(person(), { task_id })
    const offers = await claim(gate, { max_tasks: 2 })
    expect(offers.map((offer) => offer.task_id)).toEqual([task_id, younger.task_id])
  })

  it('an approval wakes a worker that waits in lease_next', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    const claiming = gate.leaseNext(worker('w2'), { worker_id: 'w2', wait_seconds: 20 })
    await gate.approve(person(), { task_id })
    expect((await claiming).tasks).toMatchObject([{ task_id }])
  })

  it('a task can ask repeatedly, up to a limit', async () => {
    const { gate } = await open()
    let offer = await hold(gate)
    const { task_id } = offer
    for (let n = 1; n <= 3; n++) {
      expect(await askApproval(gate, offer, { request: { title: `step ${n}` } })).toMatchObject({ n })
      await gate.approve(person(), { task_id, n })
      offer = await lease(gate)
    }
    expect(offer.answers?.map(({ n, request }) => [n, request])).toEqual([
      [1, { title: 'step 1' }],
      [2, { title: 'step 2' }],
      [3, { title: 'step 3' }],
    ])
    for (let n = 4; n <= 100; n++) {
      await askApproval(gate, offer)
      await gate.approve(person(), { task_id })
      offer = await lease(gate)
    }
    expect(await refusal(askApproval(gate, offer))).toMatchObject({ code: 'VALIDATION_ERROR' })
    await finish(gate, offer)
    expect(await statusOf(gate, { task_id })).toBe('succeeded')
  })
})

describeGates('an approval', (open) => {
  it('admins and people can decide, but not the principal that asked for the work', async () => {
    const { gate } = await open()
    const service = caller('service', 'bot', 'agent')
    const owner = caller('human', 'olga', 'admin')
    await ask(gate, { principal_ai: 'planner' }, owner)
    const offer = await lease(gate, {}, caller('worker', 'w1', 'admin'))
    const { task_id } = await gate.ask(caller('worker', 'w1', 'admin'), {
      ...held(offer),
      kind: 'approval',
      request: { title: 'May I?' },
    })
    const roles = [agent('bob'), worker('w2'), service, caller('agent', 'planner', 'agent')]
    for (const by of roles) {
      const details = { required_role: 'admin', your_role: by.role }
      expect(await refusal(gate.approve(by, { task_id }))).toMatchObject({ code: 'FORBIDDEN', details })
      expect(await refusal(gate.deny(by, { task_id, reason: 'no' }))).toMatchObject({ code: 'FORBIDDEN' })
    }
    // Regardless of their role.
    const askers = [owner, caller('agent', 'planner', 'admin'), caller('worker', 'w1', 'admin')]
    for (const by of askers) {
      const message = `${by.principal.kind}:${by.principal.id} asked for this, so another principal has to decide.`
      expect(await refusal(gate.approve(by, { task_id }))).toMatchObject({ code: 'FORBIDDEN', message })
      expect(await refusal(gate.deny(by, { task_id, reason: 'no' }))).toMatchObject({ message })
    }
    expect(await statusOf(gate, { task_id })).toBe('pending_approval')
    expect(await gate.approve(person(), { task_id })).toMatchObject({ state: 'approved' })
  })

  it('an approval is decided once, and a later decision is refused with the first', async () => {
    const { gate, clock } = await open()
    const { task_id } = await pending(gate)
    const first = await gate.approve(person(), { task_id, comment: 'yes' })
    const decided_at = new Date(clock.now).toISOString()
    clock.advance(60)
    const others = [
      gate.deny(person(), { task_id, reason: 'no' }),
      gate.deny(admin(), { task_id, reason: 'no' }),
      gate.approve(admin(), { task_id, comment: 'yes' }),
      gate.approve(person(), { task_id, comment: 'another word' }),
    ]
    for (const answer of await refusals(others)) {
      expect(answer).toMatchObject({
        code: 'ALREADY_DECIDED',
        details: { n: 1, state: 'approved', decided_by: 'human:paul', decided_at },
      })
    }
    // The same decision by the same person gets the same response.
    expect(await gate.approve(person(), { task_id, n: 1, comment: 'yes' })).toEqual({
      ...first,
      is_duplicate: true,
    })
    expect(await answered(gate, { task_id })).toHaveLength(1)
  })

  it('a repeated decision does not change a task that has continued', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    const first = await gate.approve(person(), { task_id })
    await finish(gate, await lease(gate))
    expect(await gate.approve(person(), { task_id })).toEqual({
      ...first,
      status: 'succeeded',
      is_duplicate: true,
    })
    expect(await refusal(gate.deny(person(), { task_id, reason: 'too late' }))).toMatchObject({
      code: 'ALREADY_DECIDED',
    })
    expect(await statusOf(gate, { task_id })).toBe('succeeded')
  })

  it('a decision for an unknown question is refused', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    const plain = await ask(gate)
    const nowhere = '01234567-89ab-7def-8123-456789abcdef'
    expect(await refusal(gate.approve(person(), { task_id, n: 2 }))).toMatchObject({
      code: 'QUESTION_NOT_FOUND',
      details: { task_id, n: 2 },
    })
    expect(await refusal(gate.approve(person(), { task_id: plain.task_id }))).toMatchObject({
      code: 'QUESTION_NOT_FOUND',
    })
    expect(await refusal(gate.approve(person(), { task_id: nowhere }))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    expect(await refusal(gate.approve(person('paul', 'other'), { task_id }))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    expect(await refusal(gate.deny(person(), { task_id }))).toMatchObject({ details: { path: 'reason' } })
    const { task_id: other } = await awaitingInput(gate)
    expect(await refusal(gate.approve(person(), { task_id: other }))).toMatchObject({
      code: 'INVALID_STATE_TRANSITION',
      details: { task_status: 'input_required' },
    })
  })

  it('an approval expires and cancels its task', async () => {
    const { gate, clock } = await open()
    const { task_id, expires_at } = await pending(gate, {}, { expires_in_seconds: 60 })
    expect(expires_at).toBe(new Date(clock.now + 60_000).toISOString())
    clock.advance(59)
    expect(await gate.sweep()).toBe(0)
    clock.advance(1)
    expect(await gate.sweep()).toBe(1)
    expect(await look(gate, { task_id })).toMatchObject({
      status: 'canceled',
      result: { error: { code: 'APPROVAL_EXPIRED' } },
    })
    expect(await refusal(gate.approve(person(), { task_id }))).toMatchObject({
      code: 'ALREADY_DECIDED',
      details: { state: 'expired', decided_by: 'service:asyncgate' },
    })
    expect(await openTasks(gate)).toEqual([])
    expect(await answered(gate, { task_id })).toHaveLength(1)
  })

  it('a decision at the instant of expiry is refused, even before a sweep', async () => {
    const { gate, clock } = await open()
    const { task_id } = await pending(gate, {}, { expires_in_seconds: 60 })
    clock.advance(60)
    expect(await refusal(gate.approve(person(), { task_id }))).toMatchObject({
      code: 'ALREADY_DECIDED',
      details: { state: 'expired' },
    })
    expect(await statusOf(gate, { task_id })).toBe('canceled')
    expect(await gate.sweep()).toBe(0)
  })

  it('expires_in_seconds of the worker overrides the configured expiry', async () => {
    const { gate, clock } = await open({ settings: { approval_expires_seconds: 30 } })
    const at = (seconds: number) => new Date(clock.now + seconds * 1000).toISOString()
    expect(await pending(gate)).toMatchObject({ expires_at: at(30) })
    expect(await pending(gate, {}, { expires_in_seconds: 90 })).toMatchObject({ expires_at: at(90) })
    expect(await awaitingInput(gate)).toMatchObject({ expires_at: null })
  })

  it('canceling a task withdraws its approval', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    expect(await gate.cancelTask(agent(), { task_id, reason: 'never mind' })).toEqual({
      ok: true,
      status: 'canceled',
    })
    expect(await look(gate, { task_id })).toMatchObject({ result: { error: { code: 'CANCELED' } } })
    expect(await refusal(gate.approve(person(), { task_id }))).toMatchObject({
      code: 'ALREADY_DECIDED',
      details: { state: 'withdrawn', decided_by: 'agent:alice' },
    })
    expect(await answered(gate, { task_id })).toHaveLength(1)
  })

  it('list_approvals shows approvals to callers who may decide and to the owner', async () => {
    const { gate, clock } = await open()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      clock.advance(1)
      const type = i < 4 ? 'job' : 'other'
      await ask(gate, { type, payload: { i } }, agent(i === 0 ? 'bob' : 'alice'))
      const offer = await lease(gate)
      ids.push((await askApproval(gate, offer)).task_id)
    }
    const idsOf = async (by: ReturnType<typeof agent>, input = {}) =>
      (await gate.listApprovals(by, input)).approvals.map(({ task_id }) => task_id)
    expect(await idsOf(person())).toEqual(ids)
    expect(await idsOf(agent())).toEqual(ids.slice(1))
    expect(await idsOf(agent('carol'))).toEqual([])
    expect(await idsOf(person('paul', 'other'))).toEqual([])
    expect(await idsOf(person(), { type: 'other' })).toEqual(ids.slice(4))
    const [first = '', second = ''] = ids
    await gate.approve(person(), { task_id: first })
    await gate.deny(person(), { task_id: second, reason: 'no' })
    expect(await idsOf(person())).toEqual(ids.slice(2))
    expect(await idsOf(person(), { state: 'all' })).toEqual([...ids].reverse())
    expect(await idsOf(person(), { state: 'denied' })).toEqual([second])
    const view = await gate.getApproval(person(), { task_id: second })
    expect(view).toMatchObject({
      task_id: second,
      n: 1,
      kind: 'approval',
      state: 'denied',
      request: { title: 'Delete the folder?' },
      asked_by: { kind: 'worker', id: 'w1' },
      decided_by: { kind: 'human', id: 'paul' },
      answer: { reason: 'no' },
      task: { type: 'job', payload: { i: 1 }, owner: { kind: 'agent', id: 'alice' }, status: 'canceled' },
    })
    expect(await gate.getApproval(agent(), { task_id: second })).toEqual(view)
    expect(await refusal(gate.getApproval(agent('bob'), { task_id: second }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await refusal(gate.listApprovals(worker()))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('list_approvals pages without gaps or repeats', async () => {
    const { gate } = await open()
    const ids: string[] = []
    for (let i = 0; i < 7; i++) ids.push((await pending(gate)).task_id)
    for (const state of ['open', 'all']) {
      const seen: string[] = []
      let cursor: string | null | undefined
      while (cursor !== null) {
        const page = await gate.listApprovals(person(), { state, limit: 3, ...(cursor && { cursor }) })
        expect(page.approvals.length).toBeLessThanOrEqual(3)
        seen.push(...page.approvals.map(({ task_id }) => task_id))
        cursor = page.next_cursor
      }
      expect(seen).toEqual(state === 'open' ? ids : [...ids].reverse())
    }
    const { next_cursor } = await gate.listApprovals(person(), { limit: 3 })
    expect(await refusal(gate.listApprovals(person(), { state: 'all', cursor: next_cursor }))).toMatchObject({
      details: { path: 'cursor' },
    })
  })
})
