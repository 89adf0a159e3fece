import { describe, expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import {
  ARTIFACTS,
  ask,
  askMany,
  at,
  failTask,
  finish,
  held,
  hold,
  lease,
  only,
  refusal,
} from '../../support/steps.ts'
import { problems, REQUIRED } from './ledger-rules.ts'

async function ledger(gate: Gate, filter: object, by = agent()) {
  const { receipts } = await gate.listReceiptsLedger(by, { limit: 200, ...filter })
  for (const receipt of receipts)
    expect(problems(receipt), receipt.metadata.receipt_type as string).toEqual([])
  return receipts
}

describe('the checker for canonical receipts', () => {
  it('the checker covers all 41 required fields', () => {
    expect(new Set(REQUIRED).size).toBe(41)
  })
})

describeGates('list_receipts_ledger', (open) => {
  it('the ledger contains assignment, acceptance and completion of a task', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, {
      type: 'report',
      principal_ai: 'bob',
      payload: { n: 1 },
      summary: 'Do it',
      parent_task_id: 'p',
      expected_outcome_kind: 'mixed',
      expected_artifact_mime: 'text/plain',
    })
    clock.advance(60)
    const artifact = { url: 'https://a.example/1', mime: 'text/plain', checksum: 'abc', size_bytes: 12 }
    const { receipt_id } = await finish(gate, offer, {
      result: { r: 1 },
      artifacts: [artifact],
      result_summary: 'Done',
    })
    const [assigned, accepted, completed, ...more] = await ledger(gate, { task_id: offer.task_id })
    expect(more).toEqual([])
    expect(assigned).toMatchObject({ phase: 'accepted', for_principal: 'asyncgate' })
    expect(accepted).toMatchObject({
      schema_version: '1.0',
      tenant_id: 'default',
      task_id: offer.task_id,
      parent_task_id: 'p',
      caused_by_receipt_id: 'NA',
      from_principal: 'alice',
      for_principal: 'w1',
      recipient_ai: 'bob',
      source_system: 'asyncgate',
      phase: 'accepted',
      status: 'NA',
      task_type: 'report',
      task_summary: 'Do it',
      task_body: '{"n":1}',
      inputs: { payload: { n: 1 }, payload_pointer: `inline://task/${offer.task_id}` },
      expected_outcome_kind: 'mixed',
      expected_artifact_mime: 'text/plain',
      metadata: { receipt_type: 'task.accepted', lease_id: offer.lease_id },
    })
    expect(completed).toMatchObject({
      receipt_id,
      caused_by_receipt_id: accepted?.receipt_id,
      phase: 'complete',
      status: 'success',
      completed_at: new Date(clock.now).toISOString(),
      outcome_kind: 'mixed',
      outcome_text: 'Done',
      artifact_pointer: 'https://a.example/1',
      artifact_location: 'https',
      artifact_mime: 'text/plain',
      artifact_checksum: 'abc',
      artifact_size_bytes: 12,
      artifact_refs: [artifact],
      body: { result_payload: { r: 1 } },
    })
  })

  it('a report is caused by the acceptance of its own lease', async () => {
    const { gate } = await open()
    const cause = (await ask(gate, { type: 'other' })).receipt_id
    const first = await hold(gate, { caused_by_receipt_id: cause }, { accept_types: ['job'] })
    await gate.releaseLease(worker(), held(first))
    const second = await lease(gate, { accept_types: ['job'] })
    await finish(gate, second)
    const [assigned, , again, completed] = await ledger(gate, { task_id: first.task_id })
    expect(assigned?.caused_by_receipt_id).toBe(cause)
    expect(again).toMatchObject({ caused_by_receipt_id: cause, metadata: { lease_id: second.lease_id } })
    expect(completed?.caused_by_receipt_id).toBe(again?.receipt_id)
    const third = await hold(gate, {}, { accept_types: ['job'] })
    await failTask(gate, third)
    const [, accepted, failed] = await ledger(gate, { task_id: third.task_id })
    expect(failed).toMatchObject({ status: 'failure', caused_by_receipt_id: accepted?.receipt_id })
  })

  it('outcome_kind distinguishes texts, artifacts, both and none', async () => {
    const { gate } = await open()
    const delivery_proof = { mode: 'email', target: 'a@b.example' }
    const outcomes = [
      [{ result: { n: 1 }, artifacts: ARTIFACTS }, 'mixed', '{"n":1}'],
      [{ result: null, artifacts: { pointer: 'depot://x' } }, 'artifact_pointer', 'NA'],
      [{ result: null, artifacts: ['file:///results/x'] }, 'artifact_pointer', 'NA'],
      [{ result: 1, artifacts: [{ row: 1 }] }, 'mixed', '1'],
      [{ result: 'text', artifacts: undefined, delivery_proof }, 'response_text', 'text'],
      [{ result: null, artifacts: undefined, delivery_proof }, 'none', 'NA'],
    ] as const
    for (const [input, outcome_kind, outcome_text] of outcomes) {
      const offer = await hold(gate)
      await finish(gate, offer, input)
      const receipts = await ledger(gate, { task_id: offer.task_id, status: 'success' })
      expect(only(receipts)).toMatchObject({ outcome_kind, outcome_text })
    }
  })

  it('failures and cancellations are complete with their status', async () => {
    const { gate } = await open()
    const failed = await hold(gate)
    await failTask(gate, failed, { error: { message: 'broken' } })
    const canceled = await ask(gate)
    await gate.cancelTask(agent(), { task_id: canceled.task_id, reason: 'enough' })
    const silent = await ask(gate)
    await gate.cancelTask(agent(), { task_id: silent.task_id })
    expect(await ledger(gate, { status: 'failure' })).toMatchObject([
      { phase: 'complete', status: 'failure', outcome_kind: 'response_text', outcome_text: 'broken' },
    ])
    expect(await ledger(gate, { status: 'canceled' })).toMatchObject([
      { phase: 'complete', status: 'canceled', outcome_kind: 'none', outcome_text: 'enough' },
      { phase: 'complete', status: 'canceled', outcome_kind: 'none', outcome_text: 'NA' },
    ])
  })

  it('escalations name their addressee', async () => {
    const settings = { escalation_enabled: true, escalation_target: 'agent:boss' } as const
    const { gate, clock } = await open({ settings })
    const offer = await hold(gate, { max_attempts: 1 })
    clock.advance(120)
    await gate.sweep()
    clock.advance(5)
    const [again] = (await gate.leaseNext({ ...admin(), role: 'worker' }, { worker_id: 'x' })).tasks
    if (!again) return expect.unreachable()
    await gate.fail(
      { ...admin(), role: 'worker' },
      {
        worker_id: 'x',
        task_id: again.task_id,
        lease_id: again.lease_id,
        error: {},
        retryable: true,
      },
    )
    const receipts = await ledger(gate, { receipt_type: 'task.escalated' }, agent('boss'))
    expect(receipts).toMatchObject([
      { phase: 'escalate', escalation_reason: 'lease_expired', escalation_to: 'boss', retry_requested: true },
      { phase: 'escalate', escalation_reason: 'max_retries_exceeded', escalation_to: 'boss' },
    ])
    expect(await ledger(gate, { task_id: offer.task_id }, admin())).toHaveLength(6)
  })

  it('large payloads and results are cut to the limits of the ledger', async () => {
    const { gate } = await open()
    const payloads = [
      { text: '世'.repeat(30_000) },
      { text: '🙂'.repeat(60_000) },
      { text: 'x'.repeat(500_000) },
      'x'.repeat(65_500),
    ]
    for (const payload of payloads) {
      const offer = await hold(gate, {
        payload,
        expected_outcome_kind: 'a report',
        payload_pointer: `s3://${'x'.repeat(2000)}`,
      })
      await finish(gate, offer, { result: payload })
      const receipts = await ledger(gate, { task_id: offer.task_id })
      for (const receipt of receipts) expect(receipt.task_body.isWellFormed()).toBe(true)
      expect(receipts).toHaveLength(3)
    }
  })

  it('list_receipts_ledger requires a filter', async () => {
    const { gate } = await open()
    for (const filter of [{}, { limit: 5 }]) {
      expect(await refusal(gate.listReceiptsLedger(admin(), filter))).toMatchObject({
        code: 'VALIDATION_ERROR',
      })
    }
    const { receipt_id } = await ask(gate)
    expect(await refusal(gate.listReceiptsLedger(agent(), { since_receipt_id: receipt_id }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('list_receipts_ledger filters by lease and type and pages', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    await askMany(gate, 8)
    const types = (await ledger(gate, { lease_id: offer.lease_id })).map((one) => one.metadata.receipt_type)
    expect(types).toEqual(['task.accepted', 'task.completed'])
    const found = []
    for (let since: string | null | undefined; since !== null; ) {
      const input = { receipt_type: 'task.assigned', limit: 4, ...(since && { since_receipt_id: since }) }
      const page = await gate.listReceiptsLedger(agent(), input)
      found.push(...page.receipts.map((receipt) => receipt.receipt_id))
      since = page.next_cursor
    }
    expect(new Set(found).size).toBe(9)
    expect(found).toHaveLength(9)
  })

  it('agents see ledger receipts addressed to them and admins all of the tenant', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    await ask(gate, {}, agent('bob'))
    await ask(gate, {}, agent('alice', 'other'))
    const filter = { receipt_type: 'task.assigned' }
    expect(await ledger(gate, filter)).toHaveLength(1)
    expect(await ledger(gate, { task_id: task.task_id }, agent('bob'))).toEqual([])
    expect(await ledger(gate, filter, admin())).toHaveLength(2)
    expect(at(await ledger(gate, filter, admin('other')), 0)).toMatchObject({ tenant_id: 'other' })
  })
})
