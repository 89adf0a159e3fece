import type { Fault } from '../core/errors.ts'
import { DEFAULT_SCOPES, SCOPES } from '../core/scopes.ts'

/** The resources that have metadata: the server, and its MCP endpoint. */
export const RESOURCE_PATHS = ['', '/mcp'] as const
export type ResourcePath = (typeof RESOURCE_PATHS)[number]

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'

export interface ProtectedResourceOptions {
  /** The URL of this server, without a slash at its end. It is known once the server listens. */
  readonly url: () => string
  readonly authorizationServers: () => readonly string[]
}

/** What clients are told about how to get an access token (RFC 9728, RFC 6750). */
export class ProtectedResource {
  readonly #options: ProtectedResourceOptions

  constructor(options: ProtectedResourceOptions) {
    this.#options = options
  }

  metadata(path: ResourcePath): object {
    return {
      resource: this.#options.url() + path,
      resource_name: 'AsyncGate',
      authorization_servers: this.#options.authorizationServers(),
      scopes_supported: SCOPES,
      bearer_methods_supported: ['header'],
    }
  }

  /** The WWW-Authenticate header of an error; undefined if another credential would not help. */
  challenge(fault: Fault, path: ResourcePath): string | undefined {
    const { reason, required_scope } = fault.details
    if (fault.code === 'UNAUTHENTICATED') {
      const error = reason === 'invalid_token' ? { error: reason, error_description: fault.message } : {}
      return this.#bearer(path, { ...error, scope: DEFAULT_SCOPES.join(' ') })
    }
    if (fault.code !== 'FORBIDDEN' || typeof required_scope !== 'string') return undefined
    return this.#bearer(path, { error: 'insufficient_scope', scope: required_scope })
  }

  #bearer(path: ResourcePath, parameters: Readonly<Record<string, string>>): string {
    const all = { ...parameters, resource_metadata: this.#options.url() + RESOURCE_METADATA + path }
    const quoted = Object.entries(all).map(([name, value]) => `${name}="${value.replace(/["\\]/g, '')}"`)
    return `Bearer ${quoted.join(', ')}`
  }
}
