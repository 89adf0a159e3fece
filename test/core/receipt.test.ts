import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { receiptId } from '../../src/core/ids.ts'
import { type CanonicalJson, canonical, type Json } from '../../src/core/json/json.ts'
import {
  checkReceipt,
  isTerminalType,
  MAX_BODY_BYTES,
  MAX_PARENTS,
  RECEIPT_TYPES,
  type Receipt,
  receiptHash,
  receiptKey,
} from '../../src/core/receipt.ts'
import { plainJson } from './arbitraries.ts'
import { refusal, refusalCode } from './refusal.ts'

const SALT = '8abc-0123456789ab'

const RECEIPT: Receipt = {
  tenant: 1,
  seq: 12,
  receipt_type: 'task.completed',
  created_at: 1_767_225_600_000,
  from: 'worker:w1',
  to: 'agent:alice',
  task_id: '019b7608-1c00-7000-8000-000000000001',
  lease_id: '2f1e0d0c-0b0a-4908-8706-050403020100',
  schedule_id: null,
  parents: [3, 7],
  body: canonical({ result_payload: { b: [1, 'é'], a: null } }),
  instance: 'asyncgate-1',
}

/** An independent RFC 8785 for bodies with ordinary numbers: JSON.stringify over sorted members. */
function sortedText(value: Json): string {
  return JSON.stringify(value, (_, member) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    const names = Object.keys(member).sort((a, b) => (a < b ? -1 : 1))
    return Object.fromEntries(names.map((name) => [name, member[name]]))
  })
}

describe('hash of a receipt', () => {
  const hash = (changes: Partial<Receipt>) => receiptHash(SALT, { ...RECEIPT, ...changes })

  test('the hash is the SHA-256 of the statement, as computed independently', () => {
    const letters = fc.dictionary(
      fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🦀', '_'), minLength: 1 }),
      fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(letters, fc.uniqueArray(fc.integer({ min: 1, max: 1000 })), (body, parents) => {
        fc.pre(Object.values(body).every((value) => !String(value).includes('\0')))
        const statement = {
          receipt_type: RECEIPT.receipt_type,
          task_id: RECEIPT.task_id,
          lease_id: RECEIPT.lease_id,
          schedule_id: null,
          from: RECEIPT.from,
          to: RECEIPT.to,
          parents: [...parents].sort((a, b) => a - b).map((parent) => receiptId(SALT, parent)),
          body,
        }
        expect(hash({ body: canonical(body), parents })).toBe(
          createHash('sha256').update(sortedText(statement), 'utf8').digest('hex'),
        )
      }),
    )
  })

  test('the hash does not depend on time, instance or seq', () => {
    expect(hash({ created_at: 0, instance: 'asyncgate-2', seq: 99 })).toBe(hash({}))
  })

  test('the hash does not depend on the order of parents and leaves them unchanged', () => {
    const parents = Object.freeze([7, 30, 3, 10])
    expect(hash({ parents })).toBe(hash({ parents: [3, 7, 10, 30] }))
    expect(parents).toEqual([7, 30, 3, 10])
  })

  test.each<[keyof Receipt, Partial<Receipt>]>([
    ['receipt_type', { receipt_type: 'task.failed' }],
    ['from', { from: 'worker:w2' }],
    ['to', { to: 'agent:bob' }],
    ['task_id', { task_id: null }],
    ['lease_id', { lease_id: null }],
    ['schedule_id', { schedule_id: 's1' }],
    ['parents', { parents: [3] }],
    ['body', { body: canonical({}) }],
  ])('the hash changes with %s', (_, changes) => {
    expect(hash(changes)).not.toBe(hash({}))
  })

  test('the hash changes with the tenant, since parents are named by id', () => {
    expect(receiptHash('9abc-0123456789ab', RECEIPT)).not.toBe(hash({}))
  })

  test('different bodies have different hashes', () => {
    fc.assert(
      fc.property(plainJson, plainJson, (a, b) => {
        const [one, other] = [canonical(a), canonical(b)]
        expect(hash({ body: one }) === hash({ body: other })).toBe(one === other)
      }),
    )
  })
})

describe('limits of a receipt', () => {
  const check = (changes: Partial<Receipt>, lastSeq = 11, closes = true) =>
    checkReceipt({ ...RECEIPT, ...changes }, lastSeq, closes)

  /** A body of exactly `bytes` bytes, mostly in characters of three bytes. */
  function bodyOf(bytes: number): CanonicalJson {
    const text = canonical('€'.repeat((bytes - 2) / 3) + 'a'.repeat((bytes - 2) % 3))
    expect(Buffer.byteLength(text)).toBe(bytes)
    return text
  }

  test('a body of 64 KB is accepted, and one more byte is refused', () => {
    expect(MAX_BODY_BYTES).toBe(65_536)
    expect(() => check({ body: bodyOf(65_536) })).not.toThrow()
    const fault = refusal(() => check({ body: bodyOf(65_537) }))
    expect(fault.code).toBe('RECEIPT_TOO_LARGE')
    expect(fault.details).toEqual({ receipt_type: 'task.completed', limit_bytes: 65_536 })
  })

  test('the body limit also holds for single-byte characters', () => {
    expect(() => check({ body: canonical('a'.repeat(65_534)) })).not.toThrow()
    expect(refusalCode(() => check({ body: canonical('a'.repeat(65_535)) }))).toBe('RECEIPT_TOO_LARGE')
  })

  test('ten parents are accepted and eleven are refused', () => {
    const parents = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
    expect(MAX_PARENTS).toBe(10)
    expect(() => check({ parents: parents(10) })).not.toThrow()
    expect(refusalCode(() => check({ parents: parents(11) }))).toBe('TOO_MANY_PARENTS')
  })

  test('a parent must be an earlier receipt', () => {
    expect(() => check({ parents: [1, 11] }, 11)).not.toThrow()
    expect(refusalCode(() => check({ parents: [12] }, 11))).toBe('PARENT_NOT_FOUND')
    expect(refusalCode(() => check({ parents: [3, 0] }, 11))).toBe('PARENT_NOT_FOUND')
    expect(refusal(() => check({ parents: [3, -1] }, 11)).details).toEqual({ parent: -1 })
  })

  test.each(RECEIPT_TYPES)('%s without a parent is refused only if it is terminal', (receipt_type) => {
    const call = () => check({ receipt_type, parents: [] })
    if (isTerminalType(receipt_type)) expect(refusalCode(call)).toBe('PARENT_REQUIRED')
    else expect(call).not.toThrow()
  })

  test('a completion that closes nothing needs no parent', () => {
    expect(() => check({ parents: [] }, 11, false)).not.toThrow()
  })
})

describe('key of a receipt', () => {
  const key = (changes: Partial<Receipt> = {}) => receiptKey({ ...RECEIPT, ...changes })

  test('steps that happen once under a lease and those of a schedule have a key', () => {
    expect(RECEIPT_TYPES.filter((receipt_type) => key({ receipt_type }) !== undefined)).toEqual([
      'task.accepted',
      'task.started',
      'task.completed',
      'task.failed',
      'task.canceled',
      'schedule.created',
      'schedule.deleted',
    ])
  })

  test('the key of a schedule receipt depends on the schedule id and not on the sender', () => {
    const created = (changes: Partial<Receipt>) =>
      key({ receipt_type: 'schedule.created', schedule_id: 's1', ...changes })
    expect(created({ from: 'worker:w2', lease_id: null })).toBe(created({}))
    expect(created({ schedule_id: 's2' })).not.toBe(created({}))
    expect(created({ receipt_type: 'schedule.deleted' })).not.toBe(created({}))
  })

  test('the key is the same for the same step with different content', () => {
    const again: Partial<Receipt> = {
      seq: 40,
      created_at: 0,
      body: canonical({}),
      parents: [3],
      instance: 'x',
    }
    expect(key(again)).toBe(key())
  })

  test('the key differs by type, task, sender, lease, and between a completion and its added evidence', () => {
    const keys = [
      key(),
      key({ receipt_type: 'task.failed' }),
      key({ task_id: '019b7608-1c00-7000-8000-000000000002' }),
      key({ from: 'worker:w2' }),
      key({ lease_id: '2f1e0d0c-0b0a-4908-8706-050403020101' }),
      key({ lease_id: null }),
      key({ parents: [] }),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })
})
