import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import type { Store } from '../../../src/store/store.ts'
import { StubUpstreams } from '../../gateway/calls/stub.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import { askApproval, pending, person } from '../../support/questions.ts'
import { ask, claim, finish, lease, look, receiptsOf, refusal, statusOf } from '../../support/steps.ts'

/** Every task requires approval before a worker can claim it. */
const STRICT = { policy: { defaults: { plain: 'REQUIRE_APPROVAL' } } } as const

describeGates('a task that requires approval by a rule', (open) => {
  it('a task that requires approval is created pending_approval and cannot be claimed', async () => {
    const { gate } = await open(STRICT)
    const created = await ask(gate, { payload: { to: 'all' } })
    expect(created).toMatchObject({ status: 'pending_approval', is_duplicate: false })
    expect(await claim(gate)).toEqual([])
    expect(await look(gate, created)).toMatchObject({
      status: 'pending_approval',
      question: { n: 1, kind: 'approval', asked_by: { kind: 'service', id: 'asyncgate' } },
      policy: { action: 'REQUIRE_APPROVAL' },
    })
    const [assigned, asked] = await receiptsOf(gate, created)
    expect(assigned).toMatchObject({ receipt_type: 'task.assigned', receipt_id: created.receipt_id })
    expect(asked).toMatchObject({
      receipt_type: 'question.asked',
      from: { kind: 'service', id: 'asyncgate' },
      to: { kind: 'agent', id: 'alice' },
      parents: [assigned?.receipt_id],
    })
    expect(
      await refusal(gate.approve({ ...agent(), role: 'admin' }, { task_id: created.task_id })),
    ).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.approve(person(), { task_id: created.task_id })).toMatchObject({ status: 'queued' })
    expect(await lease(gate)).toMatchObject({ task_id: created.task_id, fence: 1, payload: { to: 'all' } })
  })

  it('an approved task still waits for its delay', async () => {
    const { gate, clock } = await open(STRICT)
    const soon = await ask(gate, { delay_seconds: 60 })
    const later = await ask(gate, { delay_seconds: 60 })
    await gate.approve(person(), { task_id: soon.task_id })
    expect(await look(gate, soon)).toMatchObject({
      status: 'queued',
      next_eligible_at: new Date(clock.now + 60_000).toISOString(),
    })
    expect(await claim(gate)).toEqual([])
    clock.advance(60)
    expect(await lease(gate)).toMatchObject({ task_id: soon.task_id })
    await gate.approve(person(), { task_id: later.task_id })
    expect(await lease(gate)).toMatchObject({ task_id: later.task_id })
  })

  it('the idempotency key finds the task while it waits and afterwards', async () => {
    const { gate } = await open(STRICT)
    const input = { idempotency_key: 'k', payload: { amount: 100 } }
    const first = await ask(gate, input)
    const same = { task_id: first.task_id, is_duplicate: true, receipt_id: first.receipt_id }
    expect(await ask(gate, input)).toMatchObject({ ...same, status: 'pending_approval' })
    await gate.approve(person(), { task_id: first.task_id, payload: { amount: 50 } })
    expect(await ask(gate, input)).toMatchObject({ ...same, status: 'queued' })
    // The key matches the requested payload, not the approved one.
    expect(await refusal(ask(gate, { ...input, payload: { amount: 50 } }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
    await finish(gate, await lease(gate))
    expect(await ask(gate, input)).toMatchObject({ ...same, status: 'succeeded' })
  })

  it('a task that waits for approval counts towards the quota of open tasks', async () => {
    const { gate } = await open({ ...STRICT, settings: { max_active_tasks: 1 } })
    const created = await ask(gate)
    expect(await refusal(ask(gate))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await gate.deny(person(), { task_id: created.task_id, reason: 'no' })
    expect(await ask(gate)).toMatchObject({ status: 'pending_approval' })
  })
})

describeGates('an approval with an edited payload', (open) => {
  it('the worker receives the edited payload and the diff', async () => {
    const { gate } = await open()
    const payload = { to: ['a', 'b'], amount: 100, note: 'x' }
    const { task_id } = await pending(gate, { payload })
    const edited = { to: ['a'], amount: 50, urgent: true }
    await gate.approve(person(), { task_id, payload: edited, comment: 'only half' })
    const diff = [
      { path: '/amount', before: 100, after: 50 },
      { path: '/note', before: 'x' },
      { path: '/to/1', before: 'b' },
      { path: '/urgent', after: true },
    ]
    expect(await look(gate, { task_id })).toMatchObject({ payload: edited })
    const { tasks } = await gate.listTasks(agent())
    expect(tasks).toMatchObject([{ payload: edited }])
    const view = await gate.getApproval(admin(), { task_id })
    expect(view).toMatchObject({
      answer: { comment: 'only half', payload: edited },
      task: { payload: edited },
    })
    expect([...(view.diff ?? [])].sort((a, b) => a.path.localeCompare(b.path))).toEqual(diff)
    const offer = await lease(gate)
    expect(offer).toMatchObject({ payload: edited, answers: [{ answer: { comment: 'only half' } }] })
    expect(offer.answers?.[0]?.answer).not.toHaveProperty('payload')
    await finish(gate, offer)
    expect(await look(gate, { task_id })).toMatchObject({ status: 'succeeded', payload: edited })
  })

  it('approve is idempotent for the same payload, and an unchanged payload is not an edit', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate, { payload: { a: 1 } })
    const first = await gate.approve(person(), { task_id, payload: { a: 2 } })
    expect(await gate.approve(person(), { task_id, payload: { a: 2 } })).toEqual({
      ...first,
      is_duplicate: true,
    })
    expect(await refusal(gate.approve(person(), { task_id, payload: { a: 3 } }))).toMatchObject({
      code: 'ALREADY_DECIDED',
    })
    await askApproval(gate, await lease(gate))
    await gate.approve(person(), { task_id, payload: { a: 2 } })
    expect(await gate.getApproval(person(), { task_id })).not.toHaveProperty('diff')
    // The first edit stays.
    expect(await lease(gate)).toMatchObject({ payload: { a: 2 } })
  })

  it('an edited payload must match the schema of its type and the size limit', async () => {
    const { gate } = await open({ settings: { max_payload_bytes: 1000 } })
    await gate.registerTaskType(admin(), {
      type: 'job',
      payload_schema: { type: 'object', properties: { amount: { type: 'number', maximum: 100 } } },
    })
    const { task_id } = await pending(gate, { payload: { amount: 100 } })
    expect(await refusal(gate.approve(person(), { task_id, payload: { amount: 101 } }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'payload.amount' },
    })
    expect(await refusal(gate.approve(person(), { task_id, payload: 'x'.repeat(1000) }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(await statusOf(gate, { task_id })).toBe('pending_approval')
    await gate.approve(person(), { task_id, payload: { amount: 99 } })
    expect(await lease(gate)).toMatchObject({ payload: { amount: 99 } })
  })

  it('rules are evaluated again for an edited payload, and a blocked one is not approved', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate, { payload: { amount: 100 } })
    await gate.putPolicy(admin(), {
      id: 'no-large-amounts',
      action: 'BLOCK',
      scope: { type: 'job' },
      condition: { '>': [{ var: 'args.amount' }, 500] },
    })
    expect(await refusal(gate.approve(person(), { task_id, payload: { amount: 501 } }))).toMatchObject({
      code: 'POLICY_BLOCKED',
      details: { rule_id: 'no-large-amounts' },
    })
    expect(await look(gate, { task_id })).toMatchObject({
      status: 'pending_approval',
      payload: { amount: 100 },
    })
    expect(await gate.approve(person(), { task_id, payload: { amount: 500 } })).toMatchObject({ ok: true })
  })
})

describeGates('an approval of a tool call', (open) => {
  const tools = {
    write: { run: async () => ({ content: [] }) },
    read: { run: async () => ({ content: [] }) },
  }
  const options = {
    policy: { defaults: { upstream: 'REQUIRE_APPROVAL' } },
    upstreams: (store: Store) => StubUpstreams.on(store, tools),
  } as const
  const call = (tool = 'write', path = '/a') => ({ upstream: 'stub', tool, arguments: { path } })
  const create = (gate: Gate) => ask(gate, { type: 'mcp.tool_call', payload: call() })

  it('an approver can edit the arguments of a tool call, but not its tool or upstream', async () => {
    const { gate } = await open(options)
    const { task_id, status } = await create(gate)
    expect(status).toBe('pending_approval')
    for (const [payload, path] of [
      [call('read'), 'payload.tool'],
      [{ ...call(), upstream: 'other' }, 'payload.upstream'],
      [{ ...call(), more: 1 }, 'payload'],
      [{ path: '/a' }, 'payload.upstream'],
      ['write', 'payload'],
    ] as const) {
      expect(await refusal(gate.approve(person(), { task_id, payload }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path },
      })
    }
    expect(await statusOf(gate, { task_id })).toBe('pending_approval')
    await gate.approve(person(), { task_id, payload: call('write', '/b') })
    expect(await gate.getApproval(person(), { task_id })).toMatchObject({
      diff: [{ path: '/arguments/path', before: '/a', after: '/b' }],
      task: { payload: call('write', '/b') },
    })
  })

  it('remember_until applies to the same tool only', async () => {
    const { gate } = await open(options)
    const { task_id } = await create(gate)
    const remember_until = new Date(Date.now() + 3_600_000).toISOString()
    await gate.approve(person(), { task_id, remember_until })
    expect(await create(gate)).toMatchObject({ status: 'queued' })
    const other = await ask(gate, { type: 'mcp.tool_call', payload: call('read') })
    expect(other).toMatchObject({ status: 'pending_approval' })
  })
})

describeGates('an approval with remember_until', (open) => {
  it('remember_until lets the same agent create such tasks without approval until then', async () => {
    const { gate } = await open(STRICT)
    const first = await ask(gate)
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const past = new Date(Date.now() - 1000).toISOString()
    expect(
      await refusal(gate.approve(person(), { task_id: first.task_id, remember_until: past })),
    ).toMatchObject({ details: { path: 'remember_until' } })
    const decided = await gate.approve(person(), { task_id: first.task_id, remember_until: until })
    expect(decided.rule_id).toEqual(expect.any(String))
    expect(await ask(gate)).toMatchObject({ status: 'queued' })
    expect(await ask(gate, {}, agent('bob'))).toMatchObject({ status: 'pending_approval' })
    expect(await ask(gate, { type: 'other' })).toMatchObject({ status: 'pending_approval' })
  })
})
