import { DEFAULT_TENANT } from '../../core/principal.ts'
import { AUDIT_EVENTS, type AuditEvent, type AuditEventName } from './port.ts'

const WINDOW_MS = 60_000

/** Maximum number of addresses with failures in a minute that are counted separately. */
const MAX_WINDOWS = 100

/** Maximum number of different principals and reasons that a count lists. */
const MAX_LISTED = 10

interface Window {
  readonly first: AuditEvent
  readonly startedAt: number
  lastAt: number
  /** Failures after the first one. */
  count: number
  readonly principals: Set<string>
  readonly reasons: Set<string>
}

/**
 * Counts failures per event, tenant and address. The first failure of a minute is an event of its own; all others
 * become one event with their number when the minute is over, so that a flood of failures cannot fill the disk.
 */
export class FailureCounts {
  readonly #windows = new Map<string, Window>()

  get isEmpty(): boolean {
    return this.#windows.size === 0
  }

  /** The event to record now, if any. */
  admit(event: AuditEvent, now: number): AuditEvent | undefined {
    if (AUDIT_EVENTS[event.event].outcome === 'success') return event
    const ip = event.origin?.ip ?? ''
    const key = `${event.event} ${event.tenant} ${ip}`
    const known = this.#windows.get(key)
    if (known !== undefined) {
      count(known, event, now)
      return undefined
    }
    if (this.#windows.size < MAX_WINDOWS) {
      this.#windows.set(key, newWindow(event, now))
      return event
    }
    return this.#admitMore(event.event, event, now)
  }

  /** Failures of too many addresses are counted in one event. */
  #admitMore(name: AuditEventName, event: AuditEvent, now: number): AuditEvent | undefined {
    const known = this.#windows.get(name)
    if (known !== undefined) {
      count(known, event, now)
      return undefined
    }
    const first: AuditEvent = { event: name, tenant: DEFAULT_TENANT, reason: 'many_addresses' }
    const window = newWindow(first, now)
    count(window, event, now)
    this.#windows.set(name, window)
    return undefined
  }

  /** The counts of the windows that have ended; of all windows if `all`. */
  take(now: number, all = false): AuditEvent[] {
    const ended: AuditEvent[] = []
    for (const [key, window] of this.#windows) {
      if (!all && now - window.startedAt < WINDOW_MS) continue
      this.#windows.delete(key)
      if (window.count > 0) ended.push(countEvent(window))
    }
    return ended
  }
}

function newWindow(first: AuditEvent, now: number): Window {
  return { first, startedAt: now, lastAt: now, count: 0, principals: new Set(), reasons: new Set() }
}

function count(window: Window, { principal, reason }: AuditEvent, now: number): void {
  window.count++
  window.lastAt = now
  if (principal !== undefined && window.principals.size < MAX_LISTED) window.principals.add(principal)
  if (reason !== undefined && window.reasons.size < MAX_LISTED) window.reasons.add(reason)
}

function countEvent({ first, startedAt, lastAt, count: n, principals, reasons }: Window): AuditEvent {
  const { event, tenant, reason, origin } = first
  return {
    event,
    tenant,
    reason,
    ...(origin && { origin: { ...originOf(origin), request_id: null } }),
    details: {
      count: n,
      seconds: Math.round((lastAt - startedAt) / 1000),
      ...(principals.size > 0 && { principals: [...principals] }),
      ...(reasons.size > 0 && { reasons: [...reasons] }),
    },
  }
}

/** The members may be getters, which a spread of an instance would omit. */
function originOf({ ip, user_agent, forwarded_for }: NonNullable<AuditEvent['origin']>) {
  return { ip, user_agent, forwarded_for }
}
