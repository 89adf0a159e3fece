export const HOUR_MS = 3_600_000

/** What is counted for a tenant. All numbers are integers. */
export interface UsageCounts {
  /** Created tasks. */
  readonly tasks: number
  /** How long the leases that ended were held. */
  readonly lease_ms: number
  /** Bytes of the bodies of new receipts, without those that were erased or archived. It may be negative. */
  readonly receipt_bytes: number
  /** These bytes times the seconds that were left of the hour when each was stored. */
  readonly receipt_byte_seconds: number
  /** Calls of operations. */
  readonly calls: number
}

/** What one server has counted for a tenant in a period within one hour. */
export interface UsageEvent extends UsageCounts {
  readonly tenant: number
  /** Ids sort by the start of the period. */
  readonly id: string
  /** Milliseconds since the epoch on the clock of the server. */
  readonly from_at: number
  readonly to_at: number
  /** The instance id of the server. */
  readonly instance: string
}

/** The sum of all events of an hour. */
export interface UsageHour extends UsageCounts {
  /** The start of the hour, in milliseconds since the epoch. */
  readonly hour: number
}

/** Usage, written without the lock of the tenant. Counts of events never change. */
export interface UsageRows {
  /**
   * Adds an event, and its counts to those of its hour, in one transaction. An event with a known id is skipped, so that
   * a write can be repeated. With `isUnsent` the event is one of those that the billing webhook has to send.
   */
  add(event: UsageEvent, isUnsent: boolean): Promise<void>
  /** Hours from `from` on and before `before`, in order, as far as something was counted. */
  hours(tenant: number, from: number, before: number): Promise<UsageHour[]>
  /** The receipt bytes of all hours before this one. */
  receiptBytesBefore(tenant: number, hour: number): Promise<number>
  /** Events that the billing webhook has to send, oldest first. */
  unsent(tenant: number, limit: number): Promise<UsageEvent[]>
  /** The billing webhook has sent an event. */
  sent(tenant: number, id: string): Promise<void>
  /** Removes the oldest events with an id below `before`, sent or not. Hours stay. Resolves with their number. */
  removeBefore(tenant: number, before: string, limit: number): Promise<number>
}

/** The start of the hour of a time. */
export function hourOf(at: number): number {
  return at - (at % HOUR_MS)
}
