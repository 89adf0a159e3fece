import type { PrincipalKey, RequestOrigin } from '../../core/principal.ts'
import type { AuditOutcome, AuditRow, AuditSeverity } from '../../store/audit.ts'

interface EventKind {
  readonly severity: AuditSeverity
  readonly outcome: AuditOutcome
  /** For the documentation. */
  readonly meaning: string
}

/** Every event of the audit log. Failures of one address are counted together. */
export const AUDIT_EVENTS = {
  auth_success: {
    severity: 'info',
    outcome: 'success',
    meaning: 'A key was accepted. Recorded once per key, server and hour.',
  },
  auth_failure: {
    severity: 'warning',
    outcome: 'failure',
    meaning: 'A request had no valid key.',
  },
  authorization_failure: {
    severity: 'warning',
    outcome: 'failure',
    meaning: 'The role, the scopes or the identity of the caller did not allow a request.',
  },
  cross_tenant_attempt: {
    severity: 'critical',
    outcome: 'failure',
    meaning: 'A request named a tenant that is not the tenant of its key. The subject is that tenant.',
  },
  rate_limit_exceeded: { severity: 'warning', outcome: 'failure', meaning: 'A rate limit was exceeded.' },
  rate_limit_tightened: {
    severity: 'warning',
    outcome: 'failure',
    meaning:
      'A principal had many calls refused, so its rate limit is stricter until `details.until`. Each server decides for itself.',
  },
  rate_limit_bypass_granted: {
    severity: 'warning',
    outcome: 'success',
    meaning: 'An admin exempted a tenant or a principal from its rate limits.',
  },
  quota_exceeded: { severity: 'warning', outcome: 'failure', meaning: 'A quota was exceeded.' },
  key_created: { severity: 'info', outcome: 'success', meaning: 'A key was created.' },
  key_rotated: { severity: 'info', outcome: 'success', meaning: 'A key was replaced by a new one.' },
  key_revoked: { severity: 'info', outcome: 'success', meaning: 'A key was revoked.' },
  token_granted: {
    severity: 'info',
    outcome: 'success',
    meaning: 'A person allowed an OAuth client to get access tokens. The subject is the client.',
  },
  token_revoked: {
    severity: 'info',
    outcome: 'success',
    meaning: 'An OAuth client or an admin ended access tokens.',
  },
  token_reused: {
    severity: 'critical',
    outcome: 'failure',
    meaning:
      'A code or refresh token was used twice, so it may be stolen. All tokens of its grant ended. The subject is the client.',
  },
  identity_mapped: {
    severity: 'info',
    outcome: 'success',
    meaning: 'An admin let a person of the identity provider sign in, or changed as whom they do.',
  },
  identity_removed: {
    severity: 'info',
    outcome: 'success',
    meaning: 'An admin ended the sign-in of a person of the identity provider.',
  },
  admin_action: {
    severity: 'info',
    outcome: 'success',
    meaning: 'Someone changed the configuration, controlled running work or decided an approval.',
  },
  principal_exported: {
    severity: 'warning',
    outcome: 'success',
    meaning: 'An admin has read a page of the data of a principal.',
  },
  principal_erased: {
    severity: 'critical',
    outcome: 'success',
    meaning: 'An admin has ordered the erasure of the data of a principal.',
  },
  console_sign_in: { severity: 'info', outcome: 'success', meaning: 'A person signed in to the console.' },
  console_sign_in_failure: {
    severity: 'warning',
    outcome: 'failure',
    meaning: 'A sign-in to the console was refused.',
  },
  events_dropped: {
    severity: 'critical',
    outcome: 'failure',
    meaning: 'The server could not store some events; `details.count` says how many.',
  },
} as const satisfies Record<string, EventKind>

export type AuditEventName = keyof typeof AUDIT_EVENTS

export function isAuditEvent(name: string): name is AuditEventName {
  return Object.hasOwn(AUDIT_EVENTS, name)
}

export interface AuditEvent {
  readonly event: AuditEventName
  readonly tenant: string
  readonly principal?: PrincipalKey | undefined
  /** What the event is about, such as the id of a key. */
  readonly subject?: string | undefined
  /** Why a request was refused. */
  readonly reason?: string | undefined
  readonly key_id?: string | undefined
  readonly origin?: RequestOrigin | undefined
  /** JSON without secrets. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

/** Receives events. It never waits and never throws. */
export interface AuditSink {
  record(event: AuditEvent): void
}

/** Reports critical events to the operator. */
export interface AuditAlerts {
  /** Resolves when it is certain that the events of a tenant will be reported. */
  add(tenant: string, rows: readonly AuditRow[]): Promise<void>
}
