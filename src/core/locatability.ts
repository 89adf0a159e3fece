import { Fault, invalid } from './errors.ts'
import { type CanonicalJson, canonicalWithin, type Json } from './json.ts'
import { MAX_ARTIFACTS, MAX_BODY_BYTES } from './receipt.ts'

/** Where a result can be found. Both null: nobody can tell. */
export interface Evidence {
  readonly artifacts: CanonicalJson | null
  readonly delivery_proof: CanonicalJson | null
}

export function isLocatable(evidence: Evidence): boolean {
  return evidence.artifacts !== null || evidence.delivery_proof !== null
}

/** An empty list or object is no evidence. */
export function readEvidence(artifacts: Json | undefined, deliveryProof: Json | undefined): Evidence {
  if (Array.isArray(artifacts) && artifacts.length > MAX_ARTIFACTS) {
    throw new Fault('TOO_MANY_ARTIFACTS', { artifacts: artifacts.length, limit: MAX_ARTIFACTS })
  }
  return {
    artifacts: nonEmpty(artifacts, 'artifacts'),
    delivery_proof: nonEmpty(deliveryProof, 'delivery_proof'),
  }
}

function nonEmpty(value: Json | undefined, path: string): CanonicalJson | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'object') throw invalid(path, 'is not a list or an object')
  const text = canonicalWithin(value, path, MAX_BODY_BYTES)
  return text === '[]' || text === '{}' ? null : text
}
