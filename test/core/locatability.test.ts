import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/json.ts'
import { isLocatable, readEvidence } from '../../src/core/locatability.ts'
import { MAX_ARTIFACTS, MAX_BODY_BYTES } from '../../src/core/receipt.ts'
import { refusal, refusedPath } from './refusal.ts'

describe('a success says where its result is', () => {
  test.each<[string, Json | undefined, Json | undefined, boolean]>([
    ['nothing', undefined, undefined, false],
    ['nulls', null, null, false],
    ['an empty list', [], undefined, false],
    ['an empty object', {}, {}, false],
    ['members that are left out', Object({ url: undefined }), undefined, false],
    ['a list of pointers', [{ url: 's3://b/k' }], undefined, true],
    ['a list with an empty object', [{}], undefined, true],
    ['one pointer', { url: 's3://b/k' }, undefined, true],
    ['a delivery proof', undefined, { mode: 'email', status: 'sent' }, true],
    ['a proof beside an empty list', [], { at: 'x' }, true],
  ])('%s: artifacts %j, delivery_proof %j: %s', (_, artifacts, deliveryProof, locatable) => {
    expect(isLocatable(readEvidence(artifacts, deliveryProof))).toBe(locatable)
  })

  test('in canonical text, so that the same evidence compares equal', () => {
    expect(readEvidence([{ b: 1, a: 2 }], { z: 1, y: 2 })).toEqual({
      artifacts: '[{"a":2,"b":1}]',
      delivery_proof: '{"y":2,"z":1}',
    })
    expect(readEvidence([], {})).toEqual({ artifacts: null, delivery_proof: null })
  })

  test.each<[string, Json | undefined, Json | undefined]>([
    ['artifacts', 'file.txt', undefined],
    ['artifacts', 7, undefined],
    ['artifacts', false, undefined],
    ['artifacts', '', undefined],
    ['delivery_proof', [1], 'sent'],
    ['artifacts[0].at', [{ at: Number.NaN }], undefined],
  ])('and what is no evidence names %s', (path, artifacts, deliveryProof) => {
    expect(refusedPath(() => readEvidence(artifacts, deliveryProof))).toBe(path)
  })
})

describe('the limits of evidence', () => {
  const artifacts = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))

  test('a hundred artifacts are fine, one more is not', () => {
    expect(MAX_ARTIFACTS).toBe(100)
    expect(isLocatable(readEvidence(artifacts(100), undefined))).toBe(true)
    const fault = refusal(() => readEvidence(artifacts(101), undefined))
    expect(fault.code).toBe('TOO_MANY_ARTIFACTS')
    expect(fault.details).toEqual({ artifacts: 101, limit: 100 })
  })

  test('neither is larger than a receipt, in bytes', () => {
    // {"a":"..."} is eight bytes more than what stands inside.
    const sized = (bytes: number) => ({ a: 'é'.repeat((bytes - 8) / 2) })
    expect(isLocatable(readEvidence(sized(MAX_BODY_BYTES), undefined))).toBe(true)
    for (const call of [
      () => readEvidence(sized(MAX_BODY_BYTES + 2), undefined),
      () => readEvidence(undefined, sized(MAX_BODY_BYTES + 2)),
    ]) {
      expect(refusal(call).code).toBe('PAYLOAD_TOO_LARGE')
    }
  })
})
