import { type Caller, principalKey } from '../../core/principal.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import { isoTime } from '../../core/time.ts'
import type { AuditSink } from '../audit/port.ts'
import { MemoryBuckets } from './memory-buckets.ts'
import type { Bucket } from './port.ts'

/** A principal with more refused calls than this ignores its limits. */
const REFUSALS: RateLimit = { calls: 100, window_seconds: 60 }
const STRICTER_MS = 10 * 60_000
/** The part of the limit that remains. */
const DIVISOR = 4
const MAX_PRINCIPALS = 10_000

interface Stricter {
  readonly limit: RateLimit
  readonly until: number
}

/** Tightens the limit of principals that call on in spite of refusals. Each server decides for itself. */
export class Abuse {
  readonly #audit: AuditSink
  readonly #now: () => number
  readonly #refusals: MemoryBuckets
  readonly #stricter = new Map<string, Stricter>()

  constructor(audit: AuditSink, now: () => number = Date.now) {
    this.#audit = audit
    this.#now = now
    this.#refusals = new MemoryBuckets(now, MAX_PRINCIPALS)
  }

  /** Counts a refused call. */
  refused(caller: Caller, { limit }: Bucket): void {
    const name = nameOf(caller)
    if (this.#stricter.has(name)) return
    const [standing] = this.#refusals.take([{ name, limit: REFUSALS }], 1)
    if (standing === undefined || standing.isAllowed) return
    if (this.#stricter.size >= MAX_PRINCIPALS) this.#removeEnded()
    const stricter = { ...limit, calls: Math.max(1, Math.floor(limit.calls / DIVISOR)) }
    const until = this.#now() + STRICTER_MS
    this.#stricter.set(name, { limit: stricter, until })
    const principal = principalKey(caller.principal)
    this.#audit.record({
      event: 'rate_limit_tightened',
      tenant: caller.tenant,
      principal,
      subject: principal,
      key_id: caller.key_id,
      origin: caller.origin,
      details: { ...stricter, until: isoTime(until) },
    })
  }

  /** The limit of a principal: the given one, or the stricter one while that applies. */
  limitOf(caller: Caller, limit: RateLimit | null): RateLimit | null {
    if (this.#stricter.size === 0) return limit
    const name = nameOf(caller)
    const stricter = this.#stricter.get(name)
    if (stricter === undefined) return limit
    if (stricter.until > this.#now()) return stricter.limit
    this.#stricter.delete(name)
    return limit
  }

  #removeEnded(): void {
    const now = this.#now()
    for (const [name, { until }] of this.#stricter) if (until <= now) this.#stricter.delete(name)
  }
}

function nameOf({ tenant, principal }: Caller): string {
  return `${tenant} ${principalKey(principal)}`
}
