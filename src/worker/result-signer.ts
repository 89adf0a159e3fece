import { resultHash, signedBytes, type WorkerSignature } from '../client/worker-signature.ts'

/** An Ed25519 key in the PKCS #8 format always begins like this. */
const PEM =
  /^\s*-----BEGIN PRIVATE KEY-----\s*(MC4CAQAwBQYDK2Vw[A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/

interface KeyPair {
  readonly privateKey: Awaited<ReturnType<typeof crypto.subtle.importKey>>
  readonly public_key: string
}

/** Signs results with the key of the worker, so that the server cannot report another result in its name. */
export class ResultSigner {
  readonly #encoded: string
  #keys: Promise<KeyPair> | undefined

  private constructor(encoded: string) {
    this.#encoded = encoded
  }

  /** Undefined if the text is not an Ed25519 private key in PEM format. */
  static of(pem: string): ResultSigner | undefined {
    const [, encoded] = PEM.exec(pem) ?? []
    return encoded === undefined ? undefined : new ResultSigner(encoded.replace(/\s/g, ''))
  }

  /** Signing again gives the same signature, so a report can be repeated. */
  async sign(
    task: { readonly task_id: string; readonly lease_id: string; readonly attempt: number },
    result: unknown,
  ): Promise<WorkerSignature> {
    this.#keys ??= readKeys(this.#encoded)
    const { privateKey, public_key } = await this.#keys
    const result_sha256 = await resultHash(result)
    const { attempt } = task
    const signed = await crypto.subtle.sign(
      { name: 'Ed25519' },
      privateKey,
      signedBytes({ ...task, result_sha256 }),
    )
    return { public_key, attempt, result_sha256, signature: base64(new Uint8Array(signed)) }
  }
}

async function readKeys(encoded: string): Promise<KeyPair> {
  const der = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0))
  const privateKey = await crypto.subtle.importKey('pkcs8', der, { name: 'Ed25519' }, true, ['sign'])
  const { x = '' } = await crypto.subtle.exportKey('jwk', privateKey)
  const padded = x.replaceAll('-', '+').replaceAll('_', '/').padEnd(44, '=')
  return { privateKey, public_key: padded }
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
