import { Fault } from '../../core/errors.ts'
import type { RateLimit, Standing } from '../../core/rate-limit.ts'
import type { Bucket } from './port.ts'

export type Level = 'global' | 'tenant' | 'principal' | 'tasks' | 'address'

const SUBJECTS: Readonly<Record<Level, string>> = {
  global: 'Server API call limit',
  tenant: 'Tenant API call limit',
  principal: 'API call limit of this principal',
  tasks: 'Tenant limit of new tasks',
  address: 'Limit of failed sign-ins from this address',
}

/** The refusal of a call that a bucket has no room for. */
export function rateFault(
  { level, name, limit }: Bucket & { readonly level: Level },
  { retry_ms }: Pick<Standing, 'retry_ms'>,
): Fault {
  const retry_after_seconds = Math.max(1, Math.ceil(retry_ms / 1000))
  const window = windowOf(limit)
  const details = { retry_after_seconds, limit: limit.calls, window, bucket: name }
  return new Fault(
    'RATE_LIMIT_EXCEEDED',
    details,
    `${SUBJECTS[level]} exceeded (${limit.calls} per ${window}).`,
  )
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
] as const

/** A window as text: `1h`, `90s`. */
export function windowOf({ window_seconds }: RateLimit): string {
  const unit = UNITS.find(([seconds]) => window_seconds % seconds === 0)
  return unit === undefined ? `${window_seconds}s` : `${window_seconds / unit[0]}${unit[1]}`
}

/** The bucket that a response reports: the one to wait for longest, or else the one with the fewest calls left. */
export function shownStanding<B extends Bucket>(
  buckets: readonly B[],
  standings: readonly Standing[],
): { readonly bucket: B; readonly standing: Standing } | undefined {
  let shown: { bucket: B; standing: Standing } | undefined
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i]
    const standing = standings[i]
    if (bucket === undefined || standing === undefined) continue
    if (shown === undefined || isTighter(standing, shown.standing)) shown = { bucket, standing }
  }
  return shown
}

function isTighter(one: Standing, other: Standing): boolean {
  if (one.isAllowed !== other.isAllowed) return !one.isAllowed
  return one.isAllowed ? one.remaining < other.remaining : one.retry_ms > other.retry_ms
}
