import { isObject } from '../util/guards.ts'
import { Fault, invalid } from './errors.ts'
import { type CanonicalJson, canonicalWithin, type Json, type JsonObject } from './json/json.ts'
import { MAX_ARTIFACTS, MAX_BODY_BYTES } from './receipt.ts'

/** Where a result can be found. Both null: unknown. */
export interface Evidence {
  readonly artifacts: CanonicalJson | null
  readonly delivery_proof: CanonicalJson | null
}

export function isLocatable(evidence: Evidence): boolean {
  return evidence.artifacts !== null || evidence.delivery_proof !== null
}

/**
 * What counts of the evidence that a worker gives. What is not even of the right type is refused. What is, but does not
 * say where anything is, counts as nothing.
 */
export function readEvidence(artifacts: Json | undefined, deliveryProof: Json | undefined): Evidence {
  if (isList(artifacts) && artifacts.length > MAX_ARTIFACTS) {
    throw new Fault('TOO_MANY_ARTIFACTS', { artifacts: artifacts.length, limit: MAX_ARTIFACTS })
  }
  return {
    artifacts: evidence(artifacts, 'artifacts', isLocated),
    delivery_proof: evidence(deliveryProof, 'delivery_proof', isDelivered),
  }
}

type Counts = (value: Json, path: string) => boolean

function evidence(value: Json | undefined, path: string, counts: Counts): CanonicalJson | null {
  if (value === undefined || value === null) return null
  const text = canonicalWithin(value, path, MAX_BODY_BYTES)
  return counts(value, path) ? text : null
}

/** A list of artifacts of which one at least has a pointer, or one artifact that has. */
function isLocated(value: Json, path: string): boolean {
  if (isObject(value)) return hasPointer(value)
  if (!isList(value)) throw invalid(path, 'is not a list or an object')
  value.forEach((item, i) => {
    if (typeof item !== 'string' && !isObject(item)) {
      throw invalid(`${path}[${i}]`, 'is neither a text nor an object')
    }
  })
  return value.some((item) => (isObject(item) ? hasPointer(item) : isPointing(item)))
}

/** Members that describe a result wherever it is. */
const DESCRIPTIVE = new Set([
  'type',
  'kind',
  'channel',
  'store',
  'media_type',
  'mime',
  'mime_type',
  'content_type',
  'size',
  'size_bytes',
  'bytes',
  'checksum',
  'description',
])

/** Places have many forms: a url, a table and a row, the id of a file. Any member that is not a mere description is one. */
function hasPointer(artifact: JsonObject): boolean {
  return Object.entries(artifact).some(([name, value]) => !DESCRIPTIVE.has(name) && isPointing(value))
}

function isPointing(value: Json): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  if (typeof value === 'number') return true
  return typeof value === 'object' && value !== null && Object.values(value).some(isPointing)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** How and to where a result was sent. A delivery that failed proves nothing. */
function isDelivered(value: Json, path: string): boolean {
  if (!isObject(value)) throw invalid(path, 'is not an object')
  const { mode, target, status, at, proof } = value
  checkMember(path, 'mode', mode, isText, 'is not a text')
  checkMember(path, 'target', target, (it) => isText(it) || isObject(it), 'is neither a text nor an object')
  checkMember(path, 'status', status, isText, 'is not a text')
  checkMember(path, 'at', at, isTime, 'is not a time such as 2026-01-05T12:30:00Z')
  checkMember(path, 'proof', proof, (it) => isText(it) || isObject(it), 'is neither a text nor an object')
  return isPointing(mode ?? null) && isPointing(target ?? null) && status !== 'failed'
}

function checkMember(
  path: string,
  name: string,
  value: Json | undefined,
  fits: (value: Json) => boolean,
  problem: string,
): void {
  if (value !== undefined && value !== null && !fits(value)) throw invalid(`${path}.${name}`, problem)
}

function isText(value: Json): boolean {
  return typeof value === 'string'
}

function isTime(value: Json): boolean {
  return typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value))
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}
