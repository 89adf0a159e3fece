import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assemble, body, bodyWithResult, resultReadyBody } from '../../src/core/bodies.ts'
import { type CanonicalJson, canonical, parseCanonical } from '../../src/core/json/json.ts'
import { MAX_BODY_BYTES } from '../../src/core/receipt.ts'
import { FakeWorld, heldTask, TASK_ID } from '../support/fake-world.ts'
import { plainJson } from './arbitraries.ts'
import { bodyOf, complete, receiptOf, receiptTypes } from './commands.ts'

const NOTHING = { artifacts: null, delivery_proof: null }

/** A text of exactly `bytes` bytes, mostly in characters of two bytes. */
function sized(bytes: number): CanonicalJson {
  const text = canonical('é'.repeat((bytes - 2) >> 1) + 'a'.repeat(bytes % 2))
  expect(Buffer.byteLength(text)).toBe(bytes)
  return text
}

describe('body of a receipt', () => {
  test('assemble returns canonical JSON, with null for a missing member', () => {
    const words = fc.stringMatching(/^[a-z_]{1,8}$/)
    fc.assert(
      fc.property(fc.dictionary(words, plainJson, { noNullPrototype: true }), (members) => {
        const texts = Object.fromEntries(
          Object.entries(members).map(([name, value]) => [name, canonical(value)]),
        )
        expect(assemble(texts)).toBe(canonical(members))
      }),
    )
    expect(assemble({ b: null, a: canonical(1) })).toBe('{"a":1,"b":null}')
    expect(assemble({})).toBe('{}')
  })

  test('a body contains its schema version', () => {
    expect(body({ a: canonical(1) })).toBe('{"a":1,"schema_version":"1"}')
  })
})

describe('result in a receipt body', () => {
  const others = { artifacts: canonical([{ url: 'é' }]), note: canonical('€') }
  /** The bytes that the other members take. */
  const taken = Buffer.byteLength(bodyWithResult(TASK_ID, canonical(0), others)) - 1

  test('a result is included while the body fits the limit in bytes', () => {
    const result = sized(MAX_BODY_BYTES - taken)
    const whole = bodyWithResult(TASK_ID, result, others)
    expect(Buffer.byteLength(whole)).toBe(MAX_BODY_BYTES)
    expect(parseCanonical(whole)).toEqual({
      schema_version: '1',
      result_payload: JSON.parse(result),
      how_to_retrieve: null,
      artifacts: [{ url: 'é' }],
      note: '€',
    })
  })

  test('a result that exceeds the limit by one byte is replaced by its hash and how to retrieve it', () => {
    const result = sized(MAX_BODY_BYTES - taken + 1)
    expect(parseCanonical(bodyWithResult(TASK_ID, result, others))).toEqual({
      schema_version: '1',
      result_payload: null,
      result_hash: `sha256:${createHash('sha256').update(result, 'utf8').digest('hex')}`,
      how_to_retrieve: { operation: 'get_task', task_id: TASK_ID },
      artifacts: [{ url: 'é' }],
      note: '€',
    })
  })

  test('result_ready has the status, and how_to_retrieve only for a result that is not included', () => {
    const announced = (result: CanonicalJson) =>
      parseCanonical(resultReadyBody(TASK_ID, 'succeeded', { ...NOTHING, result, error: null }))
    expect(announced(canonical({ a: 1 }))).toEqual({
      schema_version: '1',
      status: 'succeeded',
      result_payload: { a: 1 },
      how_to_retrieve: null,
      artifacts: null,
      delivery_proof: null,
      error: null,
    })
    expect(announced(sized(MAX_BODY_BYTES))).toMatchObject({
      status: 'succeeded',
      result_payload: null,
      how_to_retrieve: { operation: 'get_task' },
    })
  })
})

describe('receipts of a completion', () => {
  /** The longest accepted texts: every character of the summary becomes six bytes. */
  const longest = {
    result_summary: '\u0001'.repeat(2000),
    completion_metadata: canonical({ m: 'x'.repeat(4096 - 8) }),
    artifacts: canonical([{ url: 'x'.repeat(20_000) }]),
  }
  const world = new FakeWorld({ tasks: [heldTask()] })

  test.each([10, 28_000, 30_000, 45_000, 56_000, 64_000, 65_536, 1_048_576])(
    'receipts of a result of %d bytes with the longest texts fit the limit',
    (bytes) => {
      const decision = world.decide(complete({ ...longest, result: sized(bytes) }))
      expect(receiptTypes(decision)).toEqual(['task.completed', 'task.result_ready'])
      for (const receipt of decision.receipts) {
        expect(Buffer.byteLength(receipt.body)).toBeLessThanOrEqual(MAX_BODY_BYTES)
      }
      const completed = bodyOf(receiptOf(decision, 'task.completed'))
      expect(completed).toMatchObject({ artifacts: [{}], completion_metadata: {} })
      expect(completed.result_payload !== null).toBe(bytes < 30_000)
    },
  )
})
