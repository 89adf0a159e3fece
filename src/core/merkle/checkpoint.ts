import { createHash, type KeyObject, sign } from 'node:crypto'

/** The head of a log: how many entries it has, and the root of the tree of them. */
export interface TreeHead {
  readonly size: number
  readonly root: Buffer
}

/** An Ed25519 key that signs checkpoints. */
export interface LogKey {
  /** The 32 bytes of the public key. */
  readonly publicKey: Buffer
  readonly privateKey: KeyObject
}

/** The type of Ed25519 signatures in signed notes. */
const ED25519 = 1
const KEY_ID_BYTES = 4

/** The name of the log of a tenant, which is also the name of its keys. It has no spaces and no plus sign. */
export function originOf(name: string, tenant: string): string {
  return `${name}/${encodeURIComponent(tenant)}`
}

/** A checkpoint as a C2SP signed note, with a signature of each key. */
export function signCheckpoint(origin: string, { size, root }: TreeHead, keys: readonly LogKey[]): string {
  const body = `${origin}\n${size}\n${root.toString('base64')}\n`
  const lines = keys.map(({ publicKey, privateKey }) => {
    const signature = Buffer.concat([keyId(origin, publicKey), sign(null, Buffer.from(body), privateKey)])
    return `— ${origin} ${signature.toString('base64')}\n`
  })
  return `${body}\n${lines.join('')}`
}

/** The head in a checkpoint that was signed here. Whether the signature is valid is not checked. */
export function headIn(note: string): TreeHead {
  const [, size, root = ''] = note.split('\n')
  return { size: Number(size), root: Buffer.from(root, 'base64') }
}

/** The public key of a log in the text form of signed notes. */
export function verifierKey(origin: string, publicKey: Buffer): string {
  const typed = Buffer.concat([Buffer.of(ED25519), publicKey])
  return `${origin}+${keyId(origin, publicKey).toString('hex')}+${typed.toString('base64')}`
}

function keyId(origin: string, publicKey: Buffer): Buffer {
  return createHash('sha256')
    .update(`${origin}\n`)
    .update(Buffer.of(ED25519))
    .update(publicKey)
    .digest()
    .subarray(0, KEY_ID_BYTES)
}

/** A proof of inclusion as a C2SP tlog-proof. */
export function inclusionProofText(index: number, path: readonly Buffer[], checkpoint: string): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('')
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes}\n${checkpoint}`
}
