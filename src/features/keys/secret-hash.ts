import { availableParallelism } from 'node:os'
import { Fault } from '../../core/errors.ts'
import { Semaphore } from '../../util/semaphore.ts'

/** Argon2id with 64 MiB of memory. */
const PARAMETERS = { memoryCost: 65_536, timeCost: 2, parallelism: 1 }

/** Each computation occupies a thread and its memory for about a tenth of a second. */
const MAX_CONCURRENT = 2
const MAX_WAITING = 200

const limited = limiter(concurrentHashes(availableParallelism()), MAX_WAITING)

/** The hash of a secret, in the PHC string format. */
export async function hashSecret(secret: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return limited(() => hash(secret, PARAMETERS))
}

export async function isSecretOf(phc: string, secret: string): Promise<boolean> {
  const { verify } = await import('@node-rs/argon2')
  return limited(() => verify(phc, secret))
}

/** How many hashes are computed at the same time: one core, if there are several, stays free for requests. */
export function concurrentHashes(cores: number): number {
  return Math.max(1, Math.min(MAX_CONCURRENT, cores - 1))
}

/** Runs at most `concurrent` computations at the same time. Those beyond `maxWaiting` are refused with OVERLOADED. */
export function limiter(concurrent: number, maxWaiting: number) {
  const permits = new Semaphore(concurrent)
  return async <T>(compute: () => Promise<T>): Promise<T> => {
    if (permits.waiting >= maxWaiting) throw new Fault('OVERLOADED')
    const release = await permits.acquire()
    try {
      return await compute()
    } finally {
      release()
    }
  }
}
