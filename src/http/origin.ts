import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Credential } from '../auth/credential.ts'
import type { RequestOrigin } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'

/** The origin of an HTTP request. It is read from the request when an event is recorded, which most requests are not. */
export class HttpOrigin implements RequestOrigin {
  readonly request_id: string | null
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage, requestId: string | undefined) {
    this.#request = request
    this.request_id = requestId ?? null
  }

  get ip(): string | null {
    return this.#request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null
  }

  get user_agent(): string | null {
    return this.#request.headers['user-agent'] ?? null
  }

  get forwarded_for(): string | null {
    const given = this.#request.headers['x-forwarded-for']
    return (Array.isArray(given) ? given.join(', ') : given) ?? null
  }
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
