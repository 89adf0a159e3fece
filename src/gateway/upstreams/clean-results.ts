import type { Progress } from '@modelcontextprotocol/client'
import { cleanLine } from '../../util/untrusted-text.ts'

const MAX_PROGRESS_TEXT = 1000

type Meta = Readonly<Record<string, unknown>>

/** Removes the members that belong to the revision of the connection, because clients may use another revision. */
export function withoutEnvelope(result: Meta): Record<string, unknown> {
  const { resultType: _, ttlMs, cacheScope, ...rest } = result
  return rest
}

/** Adds the origin of a result. Reserved keys of the upstream are removed. */
export function provenance(upstream: string, meta: Meta = {}): Record<string, unknown> {
  const own = Object.entries(meta).filter(([key]) => !/^(io\.modelcontextprotocol|asyncgate)\//.test(key))
  return Object.fromEntries([
    ...own,
    ['asyncgate/origin', `upstream:${upstream}`],
    ['asyncgate/untrusted', true],
  ])
}

export function cleanProgress(
  { progress, total, message }: Progress,
  scrub: (text: string) => string,
): Progress {
  return {
    progress,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message: cleanLine(scrub(message), MAX_PROGRESS_TEXT) }),
  }
}
