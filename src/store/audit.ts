export const AUDIT_SEVERITIES = ['info', 'warning', 'critical'] as const
export type AuditSeverity = (typeof AUDIT_SEVERITIES)[number]

export const AUDIT_OUTCOMES = ['success', 'failure'] as const
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** One row of the audit log. */
export interface AuditRow {
  readonly tenant: number
  /** Ids sort by time, see `auditId`. */
  readonly id: string
  /** Milliseconds since the epoch on the clock of the server. */
  readonly at: number
  readonly event: string
  readonly severity: AuditSeverity
  readonly outcome: AuditOutcome
  /** The actor, as kind:id. */
  readonly principal: string | null
  readonly subject: string | null
  readonly reason: string | null
  readonly ip: string | null
  readonly user_agent: string | null
  readonly request_id: string | null
  readonly key_id: string | null
  /** A JSON object. */
  readonly details: string
}

/** The audit log. It is append-only: rows end only by retention. It is written without the lock of the tenant. */
export interface AuditRows {
  /** Adds rows of one tenant. Rows with a known id are skipped, so that a write can be repeated. */
  add(tenant: number, rows: readonly AuditRow[]): Promise<void>
  /** Rows with an id of at least `from` and below `before`, newest first. */
  list(tenant: number, from: string, before: string, limit: number): Promise<AuditRow[]>
  /** Removes the oldest rows with an id below `before`. Resolves with their number. */
  removeBefore(tenant: number, before: string, limit: number): Promise<number>
}
