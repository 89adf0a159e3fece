import { describe, expect, it } from 'vitest'
import type { Profile } from '../../src/receiptgate/shape.ts'
import { ReceiptGate, startReceiptGate } from './receiptgate.ts'

const NOW = '2026-01-01T00:00:00.000Z'

/** A valid receipt of the phase accepted. */
function accepted(profile: Profile, members: object = {}): Record<string, unknown> {
  return {
    ...{ schema_version: '1.0', tenant_id: 'default', receipt_id: 'r1', task_id: 't1', parent_task_id: 'NA' },
    ...(profile === '1.1' && { obligation_id: 'o1' }),
    ...{ caused_by_receipt_id: 'NA', dedupe_key: 'd1', attempt: 0, from_principal: 'ann' },
    ...{ for_principal: 'w1', source_system: 'asyncgate', recipient_ai: 'ann', trust_domain: 'default' },
    ...{
      phase: 'accepted',
      status: 'NA',
      realtime: false,
      task_type: 'sum',
      task_summary: 'Add',
      task_body: 'x',
    },
    ...{ inputs: {}, expected_outcome_kind: 'NA', expected_artifact_mime: 'NA', outcome_kind: 'NA' },
    ...{ outcome_text: 'NA', artifact_location: 'NA', artifact_pointer: 'NA', artifact_checksum: 'NA' },
    ...{ artifact_size_bytes: 0, artifact_mime: 'NA', escalation_class: 'NA', escalation_reason: 'NA' },
    ...{ escalation_to: 'NA', retry_requested: false, body: {}, metadata: {}, created_at: NOW },
    ...{ stored_at: null, started_at: null, completed_at: null, read_at: null, archived_at: null },
    ...members,
  }
}

const COMPLETE = {
  phase: 'complete',
  status: 'success',
  outcome_kind: 'none',
  completed_at: NOW,
  receipt_id: 'r2',
}
const ESCALATE = {
  ...{ phase: 'escalate', receipt_id: 'r3', escalation_class: 'policy', escalation_reason: 'lease_expired' },
  ...{ escalation_to: 'ops', recipient_ai: 'ops', retry_requested: true, attempt: 1 },
}

describe.each(['1.0', '1.1'] as const)('the ReceiptGate double, profile %s', (profile) => {
  const make = (members: object = {}) => accepted(profile, members)
  const custodian = (name: string) => (profile === '1.1' ? { from_principal: name } : {})

  it('accepts a task that is taken on, escalated, taken on again and completed', () => {
    const gate = new ReceiptGate(profile)
    gate.submit(make())
    gate.submit(make(ESCALATE))
    if (profile === '1.0') gate.submit(make({ receipt_id: 'r4', caused_by_receipt_id: 'r3' }))
    gate.submit(make({ ...COMPLETE, ...custodian('ops') }))
    expect(gate.phasesOf('t1').at(-1)).toBe('complete')
  })

  it.each([
    ['a completion without a time', { ...COMPLETE, completed_at: null }],
    ['an artifact without a pointer', { ...COMPLETE, outcome_kind: 'artifact_pointer' }],
    ['an escalation to another recipient', { ...ESCALATE, recipient_ai: 'ann' }],
    ['a receipt without an id', { receipt_id: undefined }],
    ['an unknown member', { surprise: 1 }],
    ['a retry without an attempt', { ...ESCALATE, attempt: 0 }],
    ['a requester without a name', { from_principal: 'NA' }],
    ['an acceptance with an outcome', { outcome_kind: 'none' }],
    ['inputs that are too large', { inputs: { text: 'x'.repeat(65_530) } }],
    ['a text that is too large when it is escaped', { task_body: 'é'.repeat(20_000) }],
  ])('refuses %s', (_, members) => {
    const gate = new ReceiptGate(profile)
    if ('phase' in members) gate.submit(make())
    expect(() => gate.submit(make(members))).toThrow()
  })

  it('replays the same receipt and refuses another one with the same id', () => {
    const gate = new ReceiptGate(profile)
    expect(gate.submit(make())).toEqual({ idempotent_replay: false })
    expect(gate.submit({ ...make(), stored_at: NOW })).toEqual({ idempotent_replay: true })
    expect(() => gate.submit(make({ task_body: 'y' }))).toThrow('RECEIPT_ID_COLLISION')
    expect(gate.stored).toHaveLength(1)
  })

  it('refuses a receipt of the other profile', () => {
    const gate = new ReceiptGate(profile)
    const other = accepted(profile === '1.0' ? '1.1' : '1.0')
    expect(() => gate.submit(other)).toThrow('validation_failed')
  })
})

describe('obligations of profile 1.1', () => {
  const submit = (gate: ReceiptGate, members: object) => gate.submit(accepted('1.1', members))

  it.each([
    ['COMPLETE_WITHOUT_ACCEPT', [], COMPLETE],
    ['ESCALATE_WITHOUT_ACCEPT', [], ESCALATE],
    ['OBLIGATION_ALREADY_ACCEPTED', [{}], { receipt_id: 'r9' }],
    ['ACTOR_NOT_CUSTODIAN', [{}], COMPLETE],
    ['OBLIGATION_ALREADY_TERMINATED', [{}, { ...COMPLETE, from_principal: 'w1' }], { receipt_id: 'r9' }],
  ])('a change that is not allowed is refused with %s', (code, before, members) => {
    const gate = new ReceiptGate('1.1')
    for (const each of before) submit(gate, each)
    expect(() => submit(gate, members)).toThrow(code)
  })
})

describe('the server of the ReceiptGate double', () => {
  const call = (gate: ReceiptGate, name: string, args: object, key = gate.key) =>
    fetch(`${gate.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    })

  it('serves receipts to callers with the key only', async () => {
    const gate = await startReceiptGate()
    const receipt = accepted('1.0')
    expect((await call(gate, 'receiptgate.submit_receipt', { receipt }, 'wrong')).status).toBe(401)
    await call(gate, 'receiptgate.submit_receipt', { receipt })
    const listed = await call(gate, 'receiptgate.list_task_receipts', { task_id: 't1' })
    expect(await listed.json()).toMatchObject({ result: { receipts: [{ receipt_id: 'r1' }] } })
    const inbox = await call(gate, 'receiptgate.list_inbox', { recipient_ai: 'ann' })
    expect(await inbox.json()).toMatchObject({ result: { receipts: [{ task_id: 't1' }] } })
    const absent = await call(gate, 'receiptgate.get_receipt', { receipt_id: 'r7' })
    expect(await absent.json()).toMatchObject({ error: { code: 'not_found' } })
  })

  it('injects faults in order, with or without storing the receipt', async () => {
    const gate = await startReceiptGate()
    const receipt = accepted('1.0')
    const submit = () => call(gate, 'receiptgate.submit_receipt', { receipt })
    gate.faults = [{ kind: 'status', status: 429, retryAfter: 7 }, { kind: 'drop_after_storing' }]
    const refused = await submit()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect(gate.stored).toEqual([])
    await expect(submit()).rejects.toThrow()
    expect(gate.storedIds).toEqual(['r1'])
    gate.faults = [{ kind: 'error_after_storing' }]
    expect(await (await submit()).json()).toMatchObject({ error: { code: 'receiptgate_error' } })
    await submit()
    expect(gate.submissions.map(({ outcome }) => outcome)).toEqual(['stored', 'replay', 'replay'])
  })
})
