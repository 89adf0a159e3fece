import { describe, expect, it } from 'vitest'
import { canonical } from '../../src/core/json/json.ts'
import type { ReceiptType } from '../../src/core/receipt.ts'
import { canonicalReceipt, type Source } from '../../src/receiptgate/canonical.ts'
import type { Profile } from '../../src/receiptgate/shape.ts'
import type { Child } from '../../src/store/reads.ts'
import { done, receipt, spec, uuid } from '../support/fixtures.ts'
import { ReceiptGate } from '../support/receiptgate.ts'

const TENANT = { tenant: 1, name: 'default', salt: '8123-456789abcdef' }
const CLAIMED: readonly [ReceiptType, number] = ['task.accepted', 3]
const ESCALATED: readonly [ReceiptType, number] = ['task.escalated', 5]
const RECLAIMED: readonly [ReceiptType, number] = ['task.accepted', 6]

interface Given {
  readonly body?: object
  readonly input?: object
  readonly history?: readonly (readonly [ReceiptType, number])[]
  readonly parents?: readonly number[]
  readonly to?: Source['receipt']['to']
}

/** A receipt of task 2, which worker w1 has claimed by receipt 3. */
function source(
  type: ReceiptType,
  { body = {}, input = {}, history = [CLAIMED], parents = [2], to }: Given = {},
): Source {
  const isEscalated = history.includes(ESCALATED)
  return {
    tenant: TENANT,
    receipt: receipt({
      ...{ tenant: 1, seq: 9, receipt_type: type, from: 'worker:w2', to: to ?? 'agent:alice' },
      ...{ task_id: uuid(2), lease_id: uuid(7), parents, body: canonical(body) },
    }),
    record: {
      task: done({ tenant: 1, seq: 2, owner: 'agent:alice', principal_ai: 'alice' }),
      spec: { ...spec({ tenant: 1, seq: 2 }), input: canonical({ type: 'job', ...input }) },
      progress: null,
      questions: [],
    },
    history: history.map(
      ([receipt_type, seq]): Child => ({ parent: 2, seq, receipt_type, from: 'worker:w1' }),
    ),
    escalatedTo: isEscalated ? 'agent:ops' : undefined,
  }
}

function rendered(type: ReceiptType, given: Given = {}, profile: Profile = '1.0') {
  return canonicalReceipt(source(type, given), { profile, tenantId: 'default' })
}

describe('a receipt in the format of the shared ledger', () => {
  it.each([
    'task.assigned',
    'task.started',
    'task.progress',
    'task.retry_scheduled',
    'task.result_ready',
    'lease.expired',
    'lease.released',
    'receipt.acknowledged',
    'system.anomaly',
  ] as const)('%s has no counterpart', (type) => {
    expect(rendered(type)).toBeUndefined()
  })

  it('a claim is an acceptance by the worker on behalf of the owner', () => {
    expect(rendered('task.accepted', { history: [] })).toMatchObject({
      ...{
        phase: 'accepted',
        status: 'NA',
        from_principal: 'alice',
        for_principal: 'w2',
        recipient_ai: 'alice',
      },
      ...{ source_system: 'asyncgate', attempt: 0, started_at: null, caused_by_receipt_id: 'NA' },
    })
  })

  it('a further claim opens no second obligation', () => {
    expect(rendered('task.accepted')).toBeUndefined()
    expect(rendered('task.accepted', {}, '1.1')).toBeUndefined()
  })

  it('the claim after an escalation is an acceptance in 1.0, and takes over the obligation in 1.1', () => {
    const history = [CLAIMED, ESCALATED]
    expect(rendered('task.accepted', { history })).toMatchObject({ phase: 'accepted' })
    expect(rendered('task.accepted', { history: [...history, RECLAIMED] })).toBeUndefined()
    expect(rendered('task.accepted', { history }, '1.1')).toBeUndefined()
  })

  it.each([
    [
      'mixed',
      { artifacts: [{ url: 's3://b/k' }], result_summary: 'Done' },
      { outcome_text: 'Done', artifact_pointer: 's3://b/k' },
    ],
    [
      'artifact_pointer',
      { artifacts: [{ pointer: 'depot://1', mime: '' }] },
      { artifact_mime: 'application/octet-stream', artifact_location: 'depot' },
    ],
    ['response_text', { result_payload: { n: 1 } }, { outcome_text: '{"n":1}', artifact_pointer: 'NA' }],
    ['none', {}, { outcome_text: 'NA' }],
  ])('a success has the outcome %s', (outcome_kind, body, fields) => {
    const found = rendered('task.completed', { body })
    expect(found).toMatchObject({ phase: 'complete', status: 'success', outcome_kind, ...fields })
    expect(found?.completed_at).toBe(found?.created_at)
  })

  it('a success whose result cannot be located has no counterpart', () => {
    expect(rendered('task.completed', { parents: [] })).toBeUndefined()
  })

  it('a failure says why, and a cancellation its reason', () => {
    const error = { error: { message: 'no luck' } }
    expect(rendered('task.failed', { body: error })).toMatchObject({
      ...{ phase: 'complete', status: 'failure', outcome_kind: 'response_text', outcome_text: 'no luck' },
    })
    expect(rendered('task.canceled', { body: { reason: 'late' } })).toMatchObject({
      ...{ phase: 'complete', status: 'canceled', outcome_kind: 'none', outcome_text: 'late' },
    })
  })

  it('the end of a task that no worker claimed has a counterpart in 1.0 only', () => {
    expect(rendered('task.canceled', { history: [] })).toMatchObject({ phase: 'complete' })
    expect(rendered('task.canceled', { history: [] }, '1.1')).toBeUndefined()
  })

  it('an expired lease is an escalation to its target, with a retry', () => {
    const body = { escalation_class: 'policy', escalation_reason: 'lease_expired' }
    const history = [CLAIMED, ['lease.expired', 4], ['lease.expired', 8]] as const
    expect(rendered('task.escalated', { body, history, to: 'agent:ops' })).toMatchObject({
      ...{ phase: 'escalate', status: 'NA', completed_at: null, escalation_class: 'policy', attempt: 2 },
      ...{
        escalation_reason: 'lease_expired',
        escalation_to: 'ops',
        recipient_ai: 'ops',
        retry_requested: true,
      },
      body: { escalation: { to: 'ops', reason: 'lease_expired' } },
    })
  })

  it('exhausted attempts are an escalation without a retry', () => {
    const body = { escalation_class: 'policy', escalation_reason: 'max_retries_exceeded' }
    const fields = { escalation_reason: 'max_retries_exceeded', retry_requested: false, attempt: 1 }
    expect(rendered('task.escalated', { body })).toMatchObject(fields)
  })

  it('in 1.1 the end is reported for the custodian: the first worker, or the target of an escalation', () => {
    const first = rendered('task.completed', {}, '1.1')
    expect(first).toMatchObject({ from_principal: 'w1', for_principal: 'w2' })
    const history = [CLAIMED, ESCALATED, RECLAIMED]
    expect(rendered('task.completed', { history }, '1.1')).toMatchObject({ from_principal: 'ops' })
    expect(first?.obligation_id).toBe(rendered('task.failed', {}, '1.1')?.obligation_id)
    expect(rendered('task.completed')).not.toHaveProperty('obligation_id')
  })

  it('large inputs and texts are cut to what ReceiptGate accepts', () => {
    const input = { payload: { text: '語'.repeat(100_000) }, body: 'é'.repeat(100_000), summary: 'TBD' }
    const body = { result_payload: '語'.repeat(20_000), artifacts: [{ url: 'https://x.example/a' }] }
    for (const profile of ['1.0', '1.1'] as const) {
      const remote = new ReceiptGate(profile)
      for (const [type, given] of [
        ['task.accepted', { input, history: [] }],
        ['task.completed', { input, body }],
      ] as const) {
        const found = rendered(type, given, profile)
        expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThan(262_144 - 1000)
        expect(() => remote.submit({ ...found, receipt_id: type, from_principal: 'w2' })).not.toThrow()
      }
    }
  })
})
