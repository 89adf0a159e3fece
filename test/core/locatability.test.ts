import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/json/json.ts'
import { isLocatable, readEvidence } from '../../src/core/locatability.ts'
import { MAX_ARTIFACTS, MAX_BODY_BYTES } from '../../src/core/receipt.ts'
import { refusal, refusedPath } from './refusal.ts'

const PROOF = {
  mode: 'push',
  target: { endpoint: 'https://example.com/webhook' },
  status: 'succeeded',
  at: '2026-01-05T12:30:00Z',
  proof: { request_id: 'req_abc123', http_status: 200 },
}

describe('evidence of a result', () => {
  test.each<[string, Json | undefined, Json | undefined, boolean]>([
    ['nothing', undefined, undefined, false],
    ['nulls', null, null, false],
    ['an empty list', [], undefined, false],
    ['an empty object', {}, {}, false],
    ['undefined members', Object({ url: undefined }), undefined, false],
    ['a list of pointers', [{ url: 's3://b/k' }], undefined, true],
    ['a list with an empty object', [{}], undefined, false],
    ['a list with an empty text', ['', ' '], undefined, false],
    ['a description without a location', [{ type: 's3', size: 5 }], undefined, false],
    ['a pointer that is empty', { url: '', file_id: null }, undefined, false],
    ['a row of a table', [{ type: 'db', table: 'reports', row_id: 12345 }], undefined, true],
    ['a nested location', [{ type: 's3', location: { bucket: 'b', key: 'k' } }], undefined, true],
    ['one pointer among others that are empty', ['', {}, 's3://b/k'], undefined, true],
    ['one pointer', { url: 's3://b/k' }, undefined, true],
    ['a complete delivery proof', undefined, PROOF, true],
    ['a short delivery proof', undefined, { mode: 'email', target: 'a@b.example' }, true],
    ['a proof beside an empty list', [], PROOF, true],
    ['a proof with other members only', undefined, { x: 1 }, false],
    ['a proof without a target', undefined, { mode: 'push', target: {} }, false],
    ['a proof of a failure', undefined, { ...PROOF, status: 'failed' }, false],
  ])(
    'evidence with %s (artifacts %j, delivery_proof %j) is locatable: %s',
    (_, artifacts, deliveryProof, locatable) => {
      expect(isLocatable(readEvidence(artifacts, deliveryProof))).toBe(locatable)
    },
  )

  test('evidence is stored as canonical text, so that equal evidence compares equal', () => {
    expect(readEvidence([{ b: 1, a: 2 }], { target: 'a', mode: 'email' })).toEqual({
      artifacts: '[{"a":2,"b":1}]',
      delivery_proof: '{"mode":"email","target":"a"}',
    })
    expect(readEvidence([], {})).toEqual({ artifacts: null, delivery_proof: null })
  })

  test.each<[string, Json | undefined, Json | undefined]>([
    ['artifacts', 'file.txt', undefined],
    ['artifacts', 7, undefined],
    ['artifacts', false, undefined],
    ['artifacts', '', undefined],
    ['artifacts[0]', [null], undefined],
    ['artifacts[1]', [{ url: 's3://b/k' }, 7], undefined],
    ['artifacts[0]', [['s3://b/k']], undefined],
    ['delivery_proof', ['a'], 'sent'],
    ['delivery_proof', undefined, [1]],
    ['delivery_proof.mode', undefined, { ...PROOF, mode: 1 }],
    ['delivery_proof.target', undefined, { ...PROOF, target: ['a'] }],
    ['delivery_proof.status', undefined, { ...PROOF, status: true }],
    ['delivery_proof.at', undefined, { ...PROOF, at: 'yesterday' }],
    ['delivery_proof.proof', undefined, { ...PROOF, proof: 7 }],
    ['artifacts[0].at', [{ at: Number.NaN }], undefined],
  ])('invalid evidence is refused with the path %s', (path, artifacts, deliveryProof) => {
    expect(refusedPath(() => readEvidence(artifacts, deliveryProof))).toBe(path)
  })
})

describe('limits of evidence', () => {
  const artifacts = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))

  test('a hundred artifacts are accepted and 101 are refused', () => {
    expect(MAX_ARTIFACTS).toBe(100)
    expect(isLocatable(readEvidence(artifacts(100), undefined))).toBe(true)
    const fault = refusal(() => readEvidence(artifacts(101), undefined))
    expect(fault.code).toBe('TOO_MANY_ARTIFACTS')
    expect(fault.details).toEqual({ artifacts: 101, limit: 100 })
  })

  test('artifacts and delivery proof are limited to the bytes of a receipt', () => {
    // {"a":"..."} adds eight bytes to its text.
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
