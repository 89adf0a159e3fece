import { hash } from 'node:crypto'
import { type CanonicalJson, canonical } from './json.ts'
import type { Evidence } from './locatability.ts'
import { MAX_BODY_BYTES } from './receipt.ts'
import type { TerminalStatus } from './transitions.ts'

const SCHEMA_VERSION = canonical('1')
const NULL = canonical(null)

/** The canonical text of an object whose members are canonical already. Keys are plain ASCII words. */
export function assemble(members: Readonly<Record<string, CanonicalJson | null>>): CanonicalJson {
  let text = ''
  for (const key of Object.keys(members).sort()) {
    text += `${text === '' ? '{' : ','}"${key}":${members[key] ?? NULL}`
  }
  return (text === '' ? '{}' : `${text}}`) as CanonicalJson
}

/** A receipt body: the members, and the version of their shape. */
export function body(members: Readonly<Record<string, CanonicalJson | null>>): CanonicalJson {
  return assemble({ schema_version: SCHEMA_VERSION, ...members })
}

/** Leaves room for the other members: 4 KB of metadata, and a summary of 2,000 characters of up to 6 bytes each. */
const RESULT_ROOM = MAX_BODY_BYTES - 20 * 1024

/**
 * A result travels in its receipt while both fit; a larger one stays on the task, and the receipt carries its
 * hash and says how to get it.
 */
export function resultMembers(task_id: string, result: CanonicalJson | null, evidence: Evidence) {
  const { artifacts, delivery_proof } = evidence
  const others = byteLength(artifacts) + byteLength(delivery_proof)
  if (byteLength(result) + others <= RESULT_ROOM) return { result_payload: result, artifacts, delivery_proof }
  return {
    result_payload: null,
    result_hash: canonical(`sha256:${hash('sha256', result ?? '')}`),
    how_to_retrieve: canonical({ operation: 'get_task', task_id }),
    artifacts,
    delivery_proof,
  }
}

export function resultReadyBody(
  task_id: string,
  status: TerminalStatus,
  outcome: Evidence & { result: CanonicalJson | null; error: CanonicalJson | null },
): CanonicalJson {
  return body({
    how_to_retrieve: null,
    error: outcome.error,
    status: canonical(status),
    ...resultMembers(task_id, outcome.result, outcome),
  })
}

function byteLength(text: CanonicalJson | null): number {
  return text === null ? 0 : Buffer.byteLength(text)
}
