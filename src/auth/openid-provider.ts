import type { ClientAuth, Configuration, CustomFetch, IDToken } from 'openid-client'
import { Fault } from '../core/errors.ts'
import type { ProvedIdentity } from '../features/identities/record.ts'
import { loadOptional } from '../util/load-optional.ts'

/** Where the provider sends the browser back to, below the URL of the server. */
export const CALLBACK_PATH = '/console/oidc/callback'

export interface OpenIdProviderOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The URL of this server, without a slash at its end. It is known once the server listens. */
  readonly url: () => string
  /** Sends every request to the provider. Rejects with a Fault if the provider cannot be reached. */
  readonly fetch: CustomFetch
  readonly onError: (error: unknown) => void
}

/** What the response of the provider must fit to. */
export interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Metadata of the provider is read again after this time. */
const METADATA_MS = 3600_000
const SCOPE = 'openid email'

/** An OpenID provider: people prove there who they are. Uses the authorization code flow with PKCE. */
export class OpenIdProvider {
  readonly #options: OpenIdProviderOptions
  #loaded: { readonly configuration: Configuration; readonly at: number } | undefined
  #loading: Promise<Configuration> | undefined

  constructor(options: OpenIdProviderOptions) {
    this.#options = options
  }

  /** The address at which a person proves who they are, and what the response must fit to. */
  async begin(): Promise<{ readonly url: string; readonly checks: Checks }> {
    const library = await loadOpenIdClient()
    const configuration = await this.#configuration()
    const checks = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    }
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#options.url() + CALLBACK_PATH,
      scope: SCOPE,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, checks }
  }

  /** Who the person is, from the query of the address that the provider has sent the browser to. */
  async finish(query: string, { state, nonce, verifier }: Checks): Promise<ProvedIdentity> {
    const library = await loadOpenIdClient()
    const configuration = await this.#configuration()
    try {
      const tokens = await library.authorizationCodeGrant(
        configuration,
        new URL(this.#options.url() + CALLBACK_PATH + query),
        { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      )
      const claims = tokens.claims()
      if (claims === undefined) throw new Error('the response has no id token')
      return proved(claims, await this.#emailOf(configuration, claims, tokens.access_token))
    } catch (error) {
      throw this.#refusal(error, error instanceof library.AuthorizationResponseError)
    }
  }

  /** Some providers put the email address only into the response of the userinfo endpoint. */
  async #emailOf(configuration: Configuration, claims: IDToken, accessToken: string): Promise<EmailClaims> {
    const hasEndpoint = configuration.serverMetadata().userinfo_endpoint !== undefined
    if (claims.email !== undefined || !hasEndpoint)
      return { email: claims.email, email_verified: claims.email_verified }
    const { fetchUserInfo } = await loadOpenIdClient()
    return fetchUserInfo(configuration, accessToken, claims.sub)
  }

  async #configuration(): Promise<Configuration> {
    if (this.#loaded !== undefined && performance.now() - this.#loaded.at < METADATA_MS)
      return this.#loaded.configuration
    this.#loading ??= this.#discover().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret, fetch } = this.#options
    const library = await loadOpenIdClient()
    const isHttp = issuer.startsWith('http:')
    const at = performance.now()
    try {
      const configuration = await library.discovery(
        new URL(issuer),
        clientId,
        clientSecret,
        clientAuthentication(library, clientSecret),
        {
          [library.customFetch]: fetch,
          // The library verifies the signature of id tokens only if it is told to.
          execute: [library.enableNonRepudiationChecks, ...(isHttp ? [library.allowInsecureRequests] : [])],
        },
      )
      this.#loaded = { configuration, at }
      return configuration
    } catch (error) {
      this.#options.onError(error)
      throw unreachable(error) ?? unavailable('The metadata of the identity provider cannot be used.')
    }
  }

  #refusal(error: unknown, isByProvider: boolean): Fault {
    if (isByProvider)
      return new Fault('FORBIDDEN', {}, 'The identity provider has refused the sign-in. Try it again.')
    this.#options.onError(error)
    return (
      unreachable(error) ??
      new Fault('FORBIDDEN', {}, 'The response of the identity provider is not valid. Sign in again.')
    )
  }
}

type Library = Awaited<ReturnType<typeof loadOpenIdClient>>

/** The metadata says how a client proves itself; with HTTP Basic authentication if it says nothing. */
function clientAuthentication(library: Library, secret: string): ClientAuth {
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)]
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const use = methods.includes('client_secret_basic') ? basic : post
    use(server, client, body, headers)
  }
}

interface EmailClaims {
  readonly email?: unknown
  readonly email_verified?: unknown
}

function proved({ iss, sub }: IDToken, { email, email_verified }: EmailClaims): ProvedIdentity {
  return {
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' ? email : null,
    isEmailVerified: email_verified === true,
  }
}

/** The Fault with which a request has failed. The library wraps it. */
function unreachable(error: unknown): Fault | undefined {
  if (error instanceof Fault) return error
  return error instanceof Error && error.cause !== undefined ? unreachable(error.cause) : undefined
}

export function unavailable(problem: string): Fault {
  return new Fault('ISSUER_UNAVAILABLE', {}, `${problem} Try again later, or sign in with your key.`)
}

export function loadOpenIdClient() {
  return loadOptional('openid-client', 'OIDC_ISSUER', () => import('openid-client'))
}
