import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Credential } from '../auth/credential.ts'
import type { RequestOrigin } from '../core/principal.ts'
import type { LimitReport } from '../core/rate-limit.ts'
import type { Gate } from '../features/gate.ts'
import { type Clients, forwardedFor } from './clients.ts'

/** The origin of an HTTP request. It is read from the request when an event is recorded, which most requests are not. */
export class HttpOrigin implements RequestOrigin {
  readonly request_id: string | null
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #clients: Clients
  #isCounted = false
  #countsOnce = true

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    clients: Clients,
    requestId: string | undefined,
  ) {
    this.#request = request
    this.#response = response
    this.#clients = clients
    this.request_id = requestId ?? null
  }

  get ip(): string | null {
    return this.#clients.addressOf(this.#request)
  }

  get user_agent(): string | null {
    return this.#request.headers['user-agent'] ?? null
  }

  get forwarded_for(): string | null {
    return forwardedFor(this.#request)
  }

  get isCounted(): boolean {
    return this.#isCounted && this.#countsOnce
  }

  /** Counts every operation of the request: it is a batch. */
  countEveryCall(): void {
    this.#countsOnce = false
  }

  counted(report: LimitReport): void {
    this.#isCounted = true
    writeLimitHeaders(this.#response, report)
  }
}

/** The headers in which a response reports the limits of its caller. */
export const LIMIT_HEADERS = {
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
  reset: 'X-RateLimit-Reset',
  bucket: 'X-RateLimit-Bucket',
} as const

function writeLimitHeaders(response: ServerResponse, { bucket, limit, standing }: LimitReport): void {
  if (response.headersSent) return
  const { remaining, full_ms } = standing
  response.setHeader(LIMIT_HEADERS.limit, limit)
  response.setHeader(LIMIT_HEADERS.remaining, remaining)
  response.setHeader(LIMIT_HEADERS.reset, Math.ceil((Date.now() + full_ms) / 1000))
  response.setHeader(LIMIT_HEADERS.bucket, bucket)
}

/** The id that a response has for its request. */
export function requestIdHeader(response: ServerResponse): string | undefined {
  const id = response.getHeader('x-request-id')
  return typeof id === 'string' ? id : undefined
}

/** The part of the audit log that protocols use. */
export type RequestAudit = Pick<Gate['audit'], 'refused' | 'authenticated'>

/** Records a refused request, as that of its credential as far as it is known. */
export function noteRefusal(
  audit: RequestAudit,
  error: unknown,
  origin: RequestOrigin | undefined,
  credential?: Credential,
): void {
  const holder = credential?.kind === 'bound' ? credential : undefined
  const { principal, key_id } = holder ?? {}
  audit.refused(error, { tenant: credential?.tenant, principal, key_id, origin })
}

/** Records that a key was accepted. A server that accepts requests without a key does not record them. */
export function noteKeyUse(
  audit: RequestAudit,
  credential: Credential,
  origin: RequestOrigin,
  allowsAnonymous: boolean,
): void {
  if (credential.kind === 'bound') audit.authenticated(credential, origin)
  else if (credential.person !== undefined) audit.authenticated(credential.person, origin)
  else if (!allowsAnonymous) audit.authenticated(credential, origin)
}
