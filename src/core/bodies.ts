import { sha256 } from '../util/hash.ts'
import { isPointer } from './artifact.ts'
import { type CanonicalJson, canonical, sortedKeys } from './json/json.ts'
import type { Evidence } from './locatability.ts'
import { isWithinLimit } from './receipt.ts'
import type { TerminalStatus } from './transitions.ts'

const VERSION = 'schema_version'
const SCHEMA_VERSION = canonical('1')
const NULL = canonical(null)

/** The canonical text of an object whose members are canonical already. Keys are plain ASCII words. */
export function assemble(members: Readonly<Record<string, CanonicalJson | null>>): CanonicalJson {
  let text = '{'
  for (const key of sortedKeys(members)) text += member(text, key, members[key] ?? null)
  return `${text}}` as CanonicalJson
}

/** A receipt body: the members, and the version of their shape. */
export function body(members: Readonly<Record<string, CanonicalJson | null>>): CanonicalJson {
  let text = '{'
  let hasVersion = false
  for (const key of sortedKeys(members)) {
    if (!hasVersion && key > VERSION) {
      text += member(text, VERSION, SCHEMA_VERSION)
      hasVersion = true
    }
    text += member(text, key, members[key] ?? null)
  }
  if (!hasVersion) text += member(text, VERSION, SCHEMA_VERSION)
  return `${text}}` as CanonicalJson
}

function member(before: string, key: string, value: CanonicalJson | null): string {
  return `${before === '{' ? '' : ','}"${key}":${value ?? NULL}`
}

/** What an agent does to get a result that it is only shown the place of. */
export function howToRetrieve(task_id: string) {
  return { operation: 'fetch_task_result', task_id, download: `/v1/tasks/${task_id}/result` } as const
}

/**
 * A body with a result. It travels in its receipt while both fit; a larger one stays on the task, and the receipt
 * carries its hash and says how to get it. Of a result that is in a channel the pointer travels.
 */
export function bodyWithResult(
  task_id: string,
  result: CanonicalJson | null,
  members: ResultMembers,
): CanonicalJson {
  const elsewhere = isPointer(result, members.artifacts) ? canonical(howToRetrieve(task_id)) : null
  const whole = body({ how_to_retrieve: elsewhere, result_payload: result, ...members })
  if (isWithinLimit(whole)) return whole
  return body({
    how_to_retrieve: canonical({ operation: 'get_task', task_id }),
    result_hash: canonical(sha256(result ?? '')),
    result_payload: null,
    ...members,
  })
}

type ResultMembers = Readonly<Record<string, CanonicalJson | null>> & Pick<Evidence, 'artifacts'>

/** The word to the owner that a task has ended. */
export function resultReadyBody(
  task_id: string,
  status: TerminalStatus,
  outcome: Evidence & { readonly result: CanonicalJson | null; readonly error: CanonicalJson | null },
): CanonicalJson {
  return bodyWithResult(task_id, outcome.result, {
    artifacts: outcome.artifacts,
    delivery_proof: outcome.delivery_proof,
    error: outcome.error,
    status: canonical(status),
  })
}
