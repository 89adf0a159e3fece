import type { JsonObject } from '../core/json/json.ts'
import type { CanonicalReceipt } from './shape.ts'

/** Limits of ReceiptGate, in bytes of JSON, with room for how it counts spaces. */
const MAX_INPUTS = 60_000
const MAX_TEXT = 98_000
/** A request may have 262,144 bytes, the envelope included. */
const MAX_RECEIPT = 250_000

/** The length of the texts of a receipt that is cut as far as possible. */
const SHORT_TEXT = 4_000
const MAX_REFS = 16_000

/** The receipt within the limits of each field and of a request. */
export function fitted(receipt: CanonicalReceipt): CanonicalReceipt {
  const within = {
    ...receipt,
    inputs: jsonSize(receipt.inputs) <= MAX_INPUTS ? receipt.inputs : withoutPayload(receipt.inputs),
    task_body: cut(receipt.task_body, MAX_TEXT),
    outcome_text: cut(receipt.outcome_text, MAX_TEXT),
  }
  return jsonSize(within) <= MAX_RECEIPT ? within : shrunk(within)
}

/** The receipt without everything that it can do without. The ledger of AsyncGate has the rest. */
export function shrunk(receipt: CanonicalReceipt): CanonicalReceipt {
  const { artifact_refs, ...rest } = receipt
  const keepsRefs = artifact_refs !== undefined && jsonSize(artifact_refs) <= MAX_REFS
  return {
    ...rest,
    inputs: withoutPayload(receipt.inputs),
    task_body: cut(receipt.task_body, SHORT_TEXT),
    outcome_text: cut(receipt.outcome_text, SHORT_TEXT),
    ...(keepsRefs && { artifact_refs }),
    body: shortBody(receipt),
    metadata: { ...receipt.metadata, truncated: true },
  }
}

export function isShrunk({ metadata }: CanonicalReceipt): boolean {
  return metadata.truncated === true
}

function shortBody({ phase, body }: CanonicalReceipt): JsonObject {
  if (phase === 'complete') return { truncated: true, result: null }
  return phase === 'escalate' ? { truncated: true, escalation: body.escalation ?? null } : { truncated: true }
}

function withoutPayload({ payload_pointer = null }: JsonObject): JsonObject {
  return { payload_pointer }
}

/** Characters beyond ASCII count as the escape sequences that ReceiptGate writes them with. */
function jsonSize(value: unknown): number {
  return escapedLength(JSON.stringify(value))
}

function escapedLength(json: string): number {
  const others = json.match(/[^\x20-\x7e]/g)?.length ?? 0
  return json.length + 5 * others
}

/** The longest beginning of a text that has at most this size as JSON, never half of a character. */
function cut(text: string, max: number): string {
  if (jsonSize(text) <= max) return text
  let size = 2
  let end = 0
  for (const character of text) {
    size += jsonSize(character) - 2
    if (size > max) break
    end += character.length
  }
  return text.slice(0, end)
}
