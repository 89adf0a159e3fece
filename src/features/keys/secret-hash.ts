import { Fault } from '../../core/errors.ts'
import { Semaphore } from '../../util/semaphore.ts'

/** Argon2id with 64 MiB of memory. */
const PARAMETERS = { memoryCost: 65_536, timeCost: 2, parallelism: 1 }

/** Each computation occupies a thread and its memory for about a tenth of a second. */
const CONCURRENT = 2
const MAX_WAITING = 200

const permits = new Semaphore(CONCURRENT)

/** The hash of a secret, in the PHC string format. */
export async function hashSecret(secret: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return limited(() => hash(secret, PARAMETERS))
}

export async function isSecretOf(phc: string, secret: string): Promise<boolean> {
  const { verify } = await import('@node-rs/argon2')
  return limited(() => verify(phc, secret))
}

async function limited<T>(compute: () => Promise<T>): Promise<T> {
  if (permits.waiting >= MAX_WAITING) throw new Fault('OVERLOADED')
  const release = await permits.acquire()
  try {
    return await compute()
  } finally {
    release()
  }
}
