import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { DkimSettings } from './settings.ts'

/** What a mail is signed with. */
export interface DkimSigner {
  readonly domainName: string
  readonly keySelector: string
  /** PEM. */
  readonly privateKey: string
}

/** Receivers do not accept shorter keys. */
const MIN_BITS = 1024

/** Reads the key, so that a file that is no key is noticed at the start and not with the first mail. */
export async function openDkim({ domain, selector, key_file }: DkimSettings): Promise<DkimSigner> {
  const pem = await readFile(key_file, 'utf8').catch((error: unknown) => {
    throw new Error(`The DKIM key ${key_file} cannot be read (${reasonOf(error)}).`, { cause: error })
  })
  checkKey(pem, key_file)
  return { domainName: domain, keySelector: selector, privateKey: pem }
}

function checkKey(pem: string, file: string): void {
  let key: ReturnType<typeof createPrivateKey>
  try {
    key = createPrivateKey(pem)
  } catch (error) {
    throw new Error(`${file} is not a private key in PEM without a password.`, { cause: error })
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType !== 'rsa' || bits < MIN_BITS) {
    throw new Error(`${file} is not an RSA key of at least ${MIN_BITS} bits, which mail is signed with.`)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
