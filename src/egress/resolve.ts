import { lookup } from 'node:dns/promises'
import { EgressError } from './error.ts'

/** Finds all addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** As other programs of this machine find them, /etc/hosts included. */
export const systemResolve: Resolve = async (host) => {
  try {
    const found = await lookup(host, { all: true, order: 'verbatim' })
    return found.map(({ address }) => address)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // A host that does not exist is answered like one that is not allowed, or callers could list internal names.
    const outcome = code === 'ENOTFOUND' ? 'REFUSED' : 'UNREACHABLE'
    throw new EgressError(outcome, `${host} cannot be resolved (${code})`)
  }
}
