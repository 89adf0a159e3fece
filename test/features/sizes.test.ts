import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { canonical } from '../../src/core/json/json.ts'
import { describeGates } from '../support/gates.ts'
import {
  ask,
  at,
  failTask,
  finish,
  hold,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
  statusOf,
} from '../support/steps.ts'

const KB = 1024
const PROOF = { mode: 'push', target: 'https://example.com/webhook' }

describeGates('large results', (open) => {
  it('a task stores a large result in full, and its receipts say how to retrieve it', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const result = { text: 'é'.repeat(100 * KB) }
    expect(await finish(gate, offer, { result })).toMatchObject({ ok: true, obligation_open: false })
    expect((await look(gate, offer)).result).toMatchObject({ result })
    const receipts = await receiptsOf(gate, offer)
    for (const receipt of receipts.slice(2)) {
      expect(receipt.body).toMatchObject({
        result_payload: null,
        result_hash: `sha256:${hash('sha256', canonical(result))}`,
        how_to_retrieve: { operation: 'get_task', task_id: offer.task_id },
      })
      expect(JSON.stringify(receipt.body).length).toBeLessThan(64 * KB)
    }
    expect(receipts).toHaveLength(4)
  })

  it('a result that fits is included in the receipts', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const result = 'x'.repeat(40 * KB)
    await finish(gate, offer, { result })
    expect(at(await receiptsOf(gate, offer), 2).body).toMatchObject({ result_payload: result })
  })

  it('a result over the limit is refused, and the lease stays', async () => {
    const { gate } = await open({ settings: { max_payload_bytes: 10 * KB } })
    const offer = await hold(gate)
    for (const result of ['x'.repeat(10 * KB), 'é'.repeat(6 * KB)]) {
      expect(await refusal(finish(gate, offer, { result }))).toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
        details: { path: 'result', limit_bytes: 10 * KB },
      })
    }
    expect(await statusOf(gate, offer)).toBe('leased')
    expect(await finish(gate, offer, { result: 'x'.repeat(10 * KB - 2) })).toMatchObject({ ok: true })
  })

  it('complete with another large result of the same length is a conflict', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer, { result: 'x'.repeat(200 * KB) })
    expect(await refusal(finish(gate, offer, { result: 'y'.repeat(200 * KB) }))).toMatchObject({
      code: 'RESULT_CONFLICT',
    })
    expect(await finish(gate, offer, { result: 'x'.repeat(200 * KB) })).toMatchObject({ ok: true })
  })
})

describeGates('limits of evidence', (open) => {
  it('up to a hundred artifacts are stored, and more are refused without changes', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const artifacts = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ url: `https://a.example/${n}` }))
    expect(await refusal(finish(gate, offer, { artifacts: artifacts(101) }))).toMatchObject({
      code: 'TOO_MANY_ARTIFACTS',
      details: { artifacts: 101, limit: 100 },
    })
    expect(await receiptTypes(gate, offer)).toEqual(['task.assigned', 'task.accepted'])
    expect(await finish(gate, offer, { artifacts: artifacts(100) })).toMatchObject({ obligation_open: false })
    expect((await look(gate, offer)).result).toMatchObject({ artifacts: artifacts(100) })
  })

  it('evidence that exceeds the receipt limit is refused without changes', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const tooLarge = [
      { artifacts: [{ note: 'x'.repeat(70 * KB) }] },
      {
        artifacts: [{ note: 'x'.repeat(40 * KB) }],
        delivery_proof: { ...PROOF, proof: 'x'.repeat(40 * KB) },
      },
    ]
    for (const evidence of tooLarge) {
      const { code } = await refusal(finish(gate, offer, evidence))
      expect(['RECEIPT_TOO_LARGE', 'PAYLOAD_TOO_LARGE']).toContain(code)
    }
    expect(await statusOf(gate, offer)).toBe('leased')
    expect(await receiptTypes(gate, offer)).toEqual(['task.assigned', 'task.accepted'])
    expect(await openTasks(gate)).toEqual([offer.task_id])
    expect(await finish(gate, offer)).toMatchObject({ ok: true })
  })

  it('artifacts must be a list and delivery_proof an object', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    for (const [field, value] of [
      ['artifacts', 'url'],
      ['artifacts', 7],
      ['delivery_proof', true],
    ] as const) {
      expect(await refusal(finish(gate, offer, { [field]: value }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: field },
      })
    }
  })
})

describeGates('limits of texts', (open) => {
  it('texts over their limits are refused, and no task is created', async () => {
    const { gate } = await open({ settings: { max_payload_bytes: 10 * KB } })
    const tooLarge = [
      ['payload', 'x'.repeat(10 * KB)],
      ['inputs', { a: 'x'.repeat(130 * KB) }],
      ['body', '€'.repeat(50 * KB)],
    ] as const
    for (const [path, value] of tooLarge) {
      expect(await refusal(ask(gate, { [path]: value })), path).toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
        details: { path },
      })
    }
    const tooLong = ['type', 'principal_ai', 'idempotency_key', 'session_id', 'summary', 'payload_pointer']
    for (const path of tooLong) {
      expect(await refusal(ask(gate, { [path]: 'x'.repeat(2049) })), path).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path },
      })
    }
    expect(await openTasks(gate)).toEqual([])
  })

  it('an error over 16 KB is refused, and the lease stays', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    expect(await refusal(failTask(gate, offer, { error: { log: 'x'.repeat(17 * KB) } }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { path: 'error' },
    })
    expect(await statusOf(gate, offer)).toBe('leased')
  })
})
