import { canonicalJson } from './canonical-json.ts'
import type { ProvenReceipt } from './ledger-proof.ts'
import { hashOf, hex, LedgerProofError } from './ledger-text.ts'

/** What a worker signs about a result. */
export interface SignedResult {
  readonly task_id: string
  readonly lease_id: string
  readonly attempt: number
  /** SHA-256 of the result in RFC 8785 form, in hexadecimal digits. */
  readonly result_sha256: string
}

/** In the completion_metadata of a task, and thereby in the body of its receipt task.completed. */
export interface WorkerSignature extends Pick<SignedResult, 'attempt' | 'result_sha256'> {
  /** The Ed25519 key of the worker, in base64. */
  readonly public_key: string
  /** In base64. */
  readonly signature: string
}

const encoder = new TextEncoder()

export function signedBytes({
  task_id,
  lease_id,
  attempt,
  result_sha256,
}: SignedResult): Uint8Array<ArrayBuffer> {
  return encoder.encode(`asyncgate-result-v1\n${task_id}\n${lease_id}\n${attempt}\n${result_sha256}\n`)
}

export async function resultHash(result: unknown): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(canonicalJson(result)))))
}

/**
 * Verifies the signature of the worker in a proven receipt. Resolves with undefined if it has none. Throws
 * LedgerProofError if it is wrong, or of another result than the one in the receipt.
 */
export async function verifyWorkerSignature({
  receipt,
  body,
}: Pick<ProvenReceipt, 'receipt' | 'body'>): Promise<WorkerSignature | undefined> {
  const given = signatureIn(body)
  if (given === undefined) return undefined
  const { public_key, signature, attempt, result_sha256 } = given
  const { task_id, lease_id } = receipt
  const key = await crypto.subtle.importKey('raw', hashOf(public_key), { name: 'Ed25519' }, false, ['verify'])
  const message = signedBytes({
    task_id: String(task_id),
    lease_id: String(lease_id),
    attempt,
    result_sha256,
  })
  const bytes = Uint8Array.from(atob(signature), (char) => char.charCodeAt(0))
  if (!(await crypto.subtle.verify({ name: 'Ed25519' }, key, bytes, message))) {
    throw new LedgerProofError('The signature of the worker is not valid.')
  }
  if ((await recordedHash(body)) !== result_sha256) {
    throw new LedgerProofError('The worker has signed another result than the one in the receipt.')
  }
  return given
}

/** The hash of the result that the receipt contains, or that it names instead of a large one. */
async function recordedHash(body: unknown): Promise<string | undefined> {
  const { result_hash, result_payload = null } = fieldsOf(body)
  return typeof result_hash === 'string' ? result_hash.replace(/^sha256:/, '') : resultHash(result_payload)
}

function signatureIn(body: unknown): WorkerSignature | undefined {
  const given = fieldsOf(fieldsOf(body).completion_metadata).worker_signature
  if (given === undefined) return undefined
  const { public_key, signature, attempt, result_sha256 } = fieldsOf(given)
  const areTexts =
    typeof public_key === 'string' && typeof signature === 'string' && typeof result_sha256 === 'string'
  if (!areTexts || typeof attempt !== 'number')
    throw new LedgerProofError('The signature of the worker is malformed.')
  return { public_key, signature, attempt, result_sha256 }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
