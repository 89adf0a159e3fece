import { invalid } from './errors.ts'
import type { LimitReport } from './rate-limit.ts'
import type { Scope } from './scopes.ts'

export const PRINCIPAL_KINDS = ['agent', 'worker', 'service', 'human', 'system'] as const
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number]

export interface Principal {
  readonly kind: PrincipalKind
  readonly id: string
  readonly instance_id?: string
}

/** `kind:id`, the form in which a principal is stored and compared. */
export type PrincipalKey = `${PrincipalKind}:${string}`

/** Viewers read everything of their tenant; operators also end, retry and approve tasks; admins do everything. */
export const ROLES = ['agent', 'worker', 'viewer', 'operator', 'admin', 'system'] as const
export type Role = (typeof ROLES)[number]

/** Where a request comes from, for the audit log and the rate limits. */
export interface RequestOrigin {
  readonly request_id: string | null
  /** The address of the client, or of the proxy if it is not trusted. */
  readonly ip: string | null
  readonly user_agent: string | null
  /** The addresses that proxies claim in X-Forwarded-For. Any client can send this. */
  readonly forwarded_for: string | null
  /** Whether the request was counted against the rate limits. */
  readonly isCounted?: boolean
  /** Is told what the caller has left when the request is counted. */
  counted?(report: LimitReport): void
}

/** A sign-in through an identity provider: the identity, and the revision of it that is valid for this sign-in. */
export interface IdentityRef {
  readonly id: string
  readonly revision: string
}

/** Who a request comes from. The credential decides all of this; nothing in the input can change it. */
export interface Caller {
  readonly tenant: string
  readonly principal: Principal
  readonly role: Role
  /** What the credential is limited to, below the permissions of the role; no limits if absent. */
  readonly scopes?: readonly Scope[] | undefined
  /** The only capabilities with which a worker may claim tasks; any if absent. */
  readonly capabilities?: readonly string[] | undefined
  /** The issued key of the request. */
  readonly key_id?: string | undefined
  /** The identity of a person who has signed in through an identity provider. */
  readonly identity?: IdentityRef | undefined
  /** Absent for calls of this process, and for clients on stdin. */
  readonly origin?: RequestOrigin | undefined
}

/** The tenant of credentials that name none, and of the server itself. */
export const DEFAULT_TENANT = 'default'

/** AsyncGate itself, as the author of receipts. */
export const GATE: PrincipalKey = 'service:asyncgate'

/** A caller that holds a shared key and names no principal. */
export const OPERATOR: Principal = { kind: 'service', id: 'operator' }

/** Makes the calls of upstream tools. */
export const GATEWAY: Principal = { kind: 'service', id: 'gateway' }

/** Sends notifications of approvals. */
export const APPROVAL_WEBHOOK: Principal = { kind: 'service', id: 'approval-webhook' }

/** Puts mail that arrives into inboxes. */
export const MAIL_NOTICES: Principal = { kind: 'service', id: 'asyncgate.mail' }

/** The leases of a gateway show which process holds them. */
export function gatewayWorkerId(instanceId: string): string {
  return `gateway@${instanceId}`
}

const RESERVED: ReadonlySet<string> = new Set([
  GATE,
  ...[OPERATOR, GATEWAY, APPROVAL_WEBHOOK, MAIL_NOTICES].map(principalKey),
])

/** Names of workers that only parts of AsyncGate have, whatever their kind. */
const RESERVED_WORKER = /^(?:asyncgate(?:$|\.)|gateway@)/

/** Whether only AsyncGate itself goes by this name. What merely looks the same to a reader is as good as the same. */
export function isReserved({ kind, id }: Principal): boolean {
  if (kind === 'system') return true
  if (kind !== 'service' && kind !== 'worker') return false
  const shown = plainName(id)
  return RESERVED.has(`${kind}:${shown}`) || RESERVED_WORKER.test(shown)
}

function plainName(id: string): string {
  const isPlain = /^[!-~]*$/.test(id)
  return (isPlain ? id : id.normalize('NFKC').replace(/[\p{C}\p{Z}]/gu, '')).toLowerCase()
}

export function principalKey(principal: Principal): PrincipalKey {
  return `${principal.kind}:${principal.id}`
}

export function parsePrincipalKey(key: PrincipalKey): { kind: PrincipalKind; id: string } {
  const colon = key.indexOf(':')
  return { kind: asKind(key.slice(0, colon)), id: key.slice(colon + 1) }
}

export function isPrincipalKind(kind: string): kind is PrincipalKind {
  return (PRINCIPAL_KINDS as readonly string[]).includes(kind)
}

function asKind(kind: string): PrincipalKind {
  if (isPrincipalKind(kind)) return kind
  throw invalid('principal_kind', `is not one of ${PRINCIPAL_KINDS.join(', ')}`)
}
