import type { CustomFetch } from 'openid-client'
import { IdentitySessions } from '../auth/identity-sessions.ts'
import { OpenIdProvider, unavailable } from '../auth/openid-provider.ts'
import type { Config } from '../config/index.ts'
import { EgressError } from '../egress/error.ts'
import { guardedFetch } from '../egress/fetch.ts'
import type { Method } from '../egress/hop.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'
import type { Gate } from '../features/gate.ts'
import { egressOf } from './egress.ts'

const MAX_DOCUMENT_BYTES = 256 * 1024

/** Sign-in through the identity provider of the settings. */
export interface ExternalSignIn {
  /** The name of the provider for people. */
  readonly name: string
  readonly provider: OpenIdProvider
  readonly sessions: IdentitySessions
}

/** Sends no request before a person signs in. Undefined if no provider is configured. */
export function openExternalSignIn(
  { oidc, server }: Pick<Config, 'oidc' | 'server'>,
  { identities }: Pick<Gate, 'identities'>,
  url: () => string,
  onError: (error: unknown) => void,
): ExternalSignIn | undefined {
  if (oidc === null) return undefined
  const { name, ...client } = oidc
  const fetch = providerFetch(oidc.issuer, egressOf(server))
  return {
    name,
    provider: new OpenIdProvider({ ...client, url, fetch, onError }),
    sessions: new IdentitySessions(identities, onError),
  }
}

/** Sends requests to a provider. The origin that the operator has configured may be private, other origins may not. */
export function providerFetch(issuer: string, egress: Partial<EgressSettings>): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const isTrusted = URL.canParse(url) && new URL(url).origin === new URL(issuer).origin
    try {
      const response = await guardedFetch(url, {
        method: methodOf(method),
        headers,
        ...(body instanceof URLSearchParams && { body: body.toString() }),
        settings: {
          ...(isTrusted ? allowOnlyOrigin(url, egress) : egress),
          max_redirects: 0,
          max_bytes: MAX_DOCUMENT_BYTES,
        },
        ...(signal && { signal }),
      })
      const content = new Uint8Array(await response.bytes())
      return new Response(content.length === 0 ? null : content, {
        status: response.status,
        headers: response.headers,
      })
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      const fault = unavailable('The identity provider cannot be reached.')
      // For the log: the person does not see why.
      fault.cause = error
      throw fault
    }
  }
}

/** The library sends no other methods: tokens are requested with POST, everything else is read. */
function methodOf(method: string): Method {
  return method === 'POST' ? 'POST' : 'GET'
}
