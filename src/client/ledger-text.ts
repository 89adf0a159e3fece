/** A proof or checkpoint is malformed, or it does not prove what it claims. */
export class LedgerProofError extends Error {
  override readonly name = 'LedgerProofError'
}

/** The head of a log, without its signatures. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** A proof in the tlog-proof format. */
export interface InclusionProof {
  readonly index: number
  readonly path: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

interface Signature {
  readonly name: string
  readonly keyId: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export interface SignedNote {
  /** What is signed. */
  readonly text: string
  readonly signatures: readonly Signature[]
}

export interface VerifierKey {
  readonly name: string
  readonly keyId: string
  readonly publicKey: Uint8Array<ArrayBuffer>
}

const HASH_BYTES = 32
const KEY_ID_BYTES = 4
const ED25519 = 1
const NUMBER = /^(?:0|[1-9]\d{0,15})$/

export function parseNote(note: string): SignedNote {
  const end = note.lastIndexOf('\n\n')
  const lines = note.slice(end + 2).split('\n')
  if (end < 0 || lines.pop() !== '' || lines.length === 0) throw malformed('checkpoint')
  const signatures = lines.map((line): Signature => {
    const [, name = '', encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? []
    const bytes = decode(encoded, 'signature')
    return { name, keyId: hex(bytes.subarray(0, KEY_ID_BYTES)), bytes: bytes.slice(KEY_ID_BYTES) }
  })
  return { text: note.slice(0, end + 1), signatures }
}

/** The first three lines of a checkpoint. More lines are refused: no part of AsyncGate writes them. */
export function parseTreeHead(text: string): Checkpoint {
  const [origin = '', size = '', root = '', rest, ...more] = text.split('\n')
  if (origin === '' || rest !== '' || more.length > 0) throw malformed('checkpoint')
  return { origin, size: numberOf(size, 'size of the checkpoint'), root: hashOf(root) }
}

export function parseInclusionProof(text: string): InclusionProof {
  const end = text.indexOf('\n\n')
  const [format, place = '', ...hashes] = text.slice(0, Math.max(0, end)).split('\n')
  if (format !== 'c2sp.org/tlog-proof@v1' || !place.startsWith('index ')) throw malformed('proof')
  return {
    index: numberOf(place.slice('index '.length), 'index of the proof'),
    path: hashes.map(hashOf),
    checkpoint: text.slice(end + 2),
  }
}

/** Reads a key of the form NAME+ID+KEY. */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', keyId = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? []
  const bytes = decode(encoded, 'key')
  if (bytes[0] !== ED25519 || bytes.length !== 1 + HASH_BYTES) throw malformed('key')
  return { name, keyId, publicKey: bytes.slice(1) }
}

export function hashOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = decode(text, 'hash')
  if (bytes.length !== HASH_BYTES) throw malformed('hash')
  return bytes
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function numberOf(text: string, what: string): number {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw malformed(what)
  return number
}

/** Only the one encoding of the bytes is accepted, so that no two texts mean the same. */
function decode(text: string, what: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text)
    if (text !== '' && btoa(binary) === text) return Uint8Array.from(binary, (char) => char.charCodeAt(0))
  } catch {
    throw malformed(what)
  }
  throw malformed(what)
}

function malformed(what: string): LedgerProofError {
  return new LedgerProofError(`The ${what} is malformed.`)
}
