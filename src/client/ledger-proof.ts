import {
  type Checkpoint,
  hex,
  LedgerProofError,
  parseInclusionProof,
  parseNote,
  parseTreeHead,
  parseVerifierKey,
} from './ledger-text.ts'
import type { GetReceiptProofAnswer } from './operations.ts'

/** What `get_receipt_proof` returns, or a file with it. */
export type ReceiptProof = Omit<GetReceiptProofAnswer, 'keys'>

/** What a valid proof says. */
export interface ProvenReceipt {
  /** The receipt without its body. */
  readonly receipt: Readonly<Record<string, unknown>>
  /** The body; undefined if the proof does not contain it, because it was erased. */
  readonly body: unknown
  readonly checkpoint: Checkpoint
}

const encoder = new TextEncoder()

/** The checkpoint in a signed note, if one of the keys has signed it. */
export async function openCheckpoint(note: string, keys: readonly string[]): Promise<Checkpoint> {
  const { text, signatures } = parseNote(note)
  const checkpoint = parseTreeHead(text)
  for (const { name, keyId, publicKey } of keys.map(parseVerifierKey)) {
    const signature = signatures.find((each) => each.name === name && each.keyId === keyId)
    if (name !== checkpoint.origin || signature === undefined) continue
    const key = await crypto.subtle.importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify'])
    if (await crypto.subtle.verify({ name: 'Ed25519' }, key, signature.bytes, encoder.encode(text))) {
      return checkpoint
    }
    throw new LedgerProofError(`The signature of the checkpoint of ${checkpoint.origin} is not valid.`)
  }
  throw new LedgerProofError(`No known key has signed the checkpoint of ${checkpoint.origin}.`)
}

/** Verifies that a receipt is in the log of a signed checkpoint. Throws LedgerProofError if it is not. */
export async function verifyReceipt(proof: ReceiptProof, keys: readonly string[]): Promise<ProvenReceipt> {
  const { index, path, checkpoint: note } = parseInclusionProof(proof.proof)
  const checkpoint = await openCheckpoint(note, keys)
  const leaf = await sha256(concat(Uint8Array.of(0), encoder.encode(proof.leaf)))
  const root = await rootAbove(leaf, index, checkpoint.size, path)
  if (root === undefined || hex(root) !== hex(checkpoint.root)) {
    throw new LedgerProofError('The receipt is not in the log of the checkpoint.')
  }
  const receipt = fieldsOf(proof.leaf)
  if (receipt.receipt_id !== proof.receipt_id) throw new LedgerProofError('The receipt has another id.')
  if (receipt.seq !== index + 1) throw new LedgerProofError('The receipt is not in the place of its seq.')
  if (!checkpoint.origin.endsWith(`/${encodeURIComponent(String(receipt.tenant_id))}`)) {
    throw new LedgerProofError('The log belongs to another tenant than the receipt.')
  }
  if (proof.body === null && proof.salt === null) return { receipt, body: undefined, checkpoint }
  const commitment = hex(await sha256(encoder.encode(`${proof.salt}${proof.body}`)))
  if (proof.body === null || proof.salt === null || commitment !== receipt.body_commitment) {
    throw new LedgerProofError('The body is not the one that the receipt has.')
  }
  return { receipt, body: JSON.parse(proof.body), checkpoint }
}

/** Verifies that the log of one checkpoint continues that of an earlier one (RFC 9162, section 2.1.4.2). */
export async function verifyConsistency(
  before: Pick<Checkpoint, 'size' | 'root'>,
  after: Pick<Checkpoint, 'size' | 'root'>,
  hashes: readonly Uint8Array[],
): Promise<void> {
  if (before.size > after.size) throw new LedgerProofError('The log has become shorter.')
  const roots = await rootsOf(before, after, hashes)
  if (roots === undefined || hex(roots[0]) !== hex(before.root) || hex(roots[1]) !== hex(after.root)) {
    throw new LedgerProofError(`The log does not continue the one that had ${before.size} receipts.`)
  }
}

type Roots = readonly [Uint8Array, Uint8Array]

async function rootsOf(
  before: Pick<Checkpoint, 'size' | 'root'>,
  after: Pick<Checkpoint, 'size' | 'root'>,
  hashes: readonly Uint8Array[],
): Promise<Roots | undefined> {
  if (before.size === after.size) return hashes.length === 0 ? [after.root, before.root] : undefined
  // The empty log has no root in the tree: any log continues it.
  if (before.size === 0) return hashes.length === 0 ? [before.root, after.root] : undefined
  const path = isPowerOfTwo(before.size) ? [before.root, ...hashes] : [...hashes]
  const [first, ...rest] = path
  if (first === undefined) return undefined
  let [fn, sn] = [before.size - 1, after.size - 1]
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)]
  let [fr, sr] = [first, first]
  for (const hash of rest) {
    if (sn === 0) return undefined
    if (fn % 2 === 1 || fn === sn) {
      ;[fr, sr] = [await nodeHash(hash, fr), await nodeHash(hash, sr)]
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else sr = await nodeHash(sr, hash)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 ? [fr, sr] : undefined
}

/** RFC 9162, section 2.1.3.2. */
async function rootAbove(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Promise<Uint8Array | undefined> {
  if (index >= size) return undefined
  let [fn, sn, root] = [index, size - 1, leaf]
  for (const hash of path) {
    if (sn === 0) return undefined
    if (fn % 2 === 1 || fn === sn) {
      root = await nodeHash(hash, root)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else root = await nodeHash(root, hash)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 ? root : undefined
}

function half(count: number): number {
  return Math.floor(count / 2)
}

function isPowerOfTwo(count: number): boolean {
  let rest = count
  while (rest % 2 === 0) rest /= 2
  return rest === 1
}

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Uint8Array> {
  return sha256(concat(Uint8Array.of(1), left, right))
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

function fieldsOf(leaf: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(leaf)
  if (typeof value !== 'object' || value === null) throw new LedgerProofError('The receipt is malformed.')
  return { ...value }
}
