import type { Permission } from '../../core/authorization.ts'
import { type ErrorCode, Fault } from '../../core/errors.ts'
import { type Caller, type Principal, principalKey, type RequestOrigin } from '../../core/principal.ts'
import type { AuditEventName, AuditSink } from './port.ts'

/** The part of an operation that decides how it is recorded. */
export interface Recorded {
  readonly name: string
  readonly access: Permission
  readonly effect: { readonly readOnly: boolean }
  readonly rest: { readonly path: string }
  /** The event of a successful call; admin_action if absent. */
  readonly auditEvent?: AuditEventName
  /** The field of the input or the response that names what was changed; if absent, the first one of the path. */
  readonly auditSubject?: string
}

/** Who a refused request comes from, as far as that is known. */
export interface Refused {
  readonly tenant: string
  readonly principal?: Principal | undefined
  readonly key_id?: string | undefined
  readonly origin?: RequestOrigin | undefined
}

const ADMIN_ACCESS: ReadonlySet<Permission> = new Set(['manage', 'operate', 'approve'])

const REFUSALS: Partial<Record<ErrorCode, AuditEventName>> = {
  UNAUTHENTICATED: 'auth_failure',
  FORBIDDEN: 'authorization_failure',
  RATE_LIMIT_EXCEEDED: 'rate_limit_exceeded',
  QUOTA_EXCEEDED: 'quota_exceeded',
}

/** Faults that were recorded. A fault passes several places that record it, the first of which knows the most. */
const recorded = new WeakSet<Fault>()

/** Records the refusal of a request, if it concerns security. */
export function recordRefusal(sink: AuditSink, error: unknown, from: Refused, operation?: string): void {
  if (!(error instanceof Fault)) return
  const event = REFUSALS[error.code]
  if (event === undefined || recorded.has(error)) return
  recorded.add(error)
  const { tenant, principal, key_id, origin } = from
  const { tenant_id, required_role, required_scope, quota, limit } = error.details
  const isForeign = event === 'authorization_failure' && typeof tenant_id === 'string'
  sink.record({
    event: isForeign ? 'cross_tenant_attempt' : event,
    tenant,
    principal: principal && principalKey(principal),
    subject: isForeign ? tenant_id : undefined,
    reason: error.message,
    key_id,
    origin,
    details: { operation, required_role, required_scope, quota, limit },
  })
}

/** Whether successful calls of an operation are recorded. Task calls never are: the ledger has them. */
export function isAdminAction({ access, effect, auditEvent }: Recorded): boolean {
  return auditEvent !== undefined || (!effect.readOnly && ADMIN_ACCESS.has(access))
}

export function recordAction(
  sink: AuditSink,
  operation: Recorded,
  { tenant, principal, key_id, origin, role }: Caller,
  input: object,
  output: object,
): void {
  const field = operation.auditSubject ?? /\{(\w+)\}/.exec(operation.rest.path)?.[1]
  const subject: unknown =
    field === undefined ? undefined : (Reflect.get(input, field) ?? Reflect.get(output, field))
  sink.record({
    event: operation.auditEvent ?? 'admin_action',
    tenant,
    principal: principalKey(principal),
    subject: typeof subject === 'string' ? subject : undefined,
    key_id,
    origin,
    details: { operation: operation.name, role, input },
  })
}

/** What a request has proved. */
export interface Proven {
  readonly kind: 'shared' | 'bound'
  readonly tenant: string
  readonly principal?: Principal
  readonly key_id?: string | undefined
}

const HOUR_MS = 3_600_000
const MAX_KEYS = 10_000

/** Records the first use of each key in an hour. */
export class KeyUses {
  readonly #sink: AuditSink
  /** Spares the common case the lookup by name. */
  readonly #recent = new WeakMap<Proven, number>()
  readonly #byKey = new Map<string, number>()

  constructor(sink: AuditSink) {
    this.#sink = sink
  }

  used(proven: Proven, origin: RequestOrigin | undefined, now = Date.now()): void {
    const last = this.#recent.get(proven)
    if (last !== undefined && now - last < HOUR_MS) return
    const principal = proven.principal && principalKey(proven.principal)
    const key = `${proven.tenant} ${proven.key_id ?? principal ?? 'shared'}`
    const known = this.#byKey.get(key)
    this.#recent.set(proven, known !== undefined && now - known < HOUR_MS ? known : now)
    if (known !== undefined && now - known < HOUR_MS) return
    if (this.#byKey.size >= MAX_KEYS) this.#byKey.clear()
    this.#byKey.set(key, now)
    const { tenant, key_id } = proven
    const kind = key_id !== undefined ? 'issued' : principal === undefined ? 'shared' : 'personal'
    this.#sink.record({ event: 'auth_success', tenant, principal, key_id, origin, details: { kind } })
  }
}
