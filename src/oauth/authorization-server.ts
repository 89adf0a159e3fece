import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { Fault } from '../core/errors.ts'
import { defaultScopes } from '../features/oauth/client-record.ts'
import type { KeySet } from '../features/oauth/signing-keys.ts'
import { checkHost, type GuardSettings } from '../http/guard.ts'
import { Repeater } from '../util/repeater.ts'
import { createProvider, type ProviderOptions } from './provider.ts'

export interface AuthorizationServerOptions extends Omit<ProviderOptions, 'url' | 'keys'> {
  /** The URL of this server, without a slash at its end. It is known once the server listens. */
  readonly url: () => string
  readonly guard: GuardSettings
}

interface Current {
  readonly keys: KeySet
  readonly provider: Provider
  readonly respond: ReturnType<Provider['callback']>
}

/** Another server may rotate the keys. A token of the old key is accepted everywhere, so this can take a moment. */
const KEYS_FRESH_MS = 1000
const SWEEP_MS = 60_000
const STOP_MS = 5_000

/** The authorization server over HTTP. */
export class AuthorizationServer {
  readonly #options: AuthorizationServerOptions
  readonly #sweeps: Repeater
  #current: Current | undefined
  #checkedAt = Number.NEGATIVE_INFINITY
  #building: Promise<Current> | undefined

  constructor(options: AuthorizationServerOptions) {
    const { state, grants } = options.oauth
    this.#options = options
    this.#sweeps = new Repeater(
      SWEEP_MS,
      async () => {
        await state.sweep()
        await grants.sweep()
      },
      options.onError,
    )
  }

  start(): void {
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    await this.#sweeps.stop(STOP_MS)
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkHost(request.headers, this.#options.guard)
    const { pathname, searchParams } = new URL(request.url ?? '/', this.#options.url())
    if (pathname === '/oauth/register' && !this.#options.acceptsRegistration) throw new Fault('NOT_FOUND')
    const { respond } = await this.#load()
    const { host, protocol } = new URL(this.#options.url())
    // URLs of responses are those of the public address, whatever a client or a proxy claims.
    request.headers.host = host
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    delete request.headers['x-forwarded-host']
    if (pathname === '/oauth/authorize') {
      await this.#completeScope(searchParams)
      request.url = `${pathname}?${searchParams}`
    }
    await respond(request, response)
  }

  /** The provider with the current signing keys. */
  async provider(): Promise<Provider> {
    return (await this.#load()).provider
  }

  async #load(): Promise<Current> {
    const isFresh = performance.now() - this.#checkedAt < KEYS_FRESH_MS
    if (isFresh && this.#current !== undefined) return this.#current
    this.#building ??= this.#build().finally(() => {
      this.#building = undefined
    })
    return this.#building
  }

  async #build(): Promise<Current> {
    const at = performance.now()
    const keys = await this.#options.oauth.signingKeys.load()
    if (this.#current?.keys !== keys) {
      const provider = await createProvider({ ...this.#options, url: this.#options.url(), keys })
      this.#current = { keys, provider, respond: provider.callback() }
    }
    this.#checkedAt = at
    return this.#current
  }

  /** Scopes may be separated by commas. A request without scopes is for the default ones of the client. */
  async #completeScope(query: URLSearchParams): Promise<void> {
    const given = query.getAll('scope')
    if (given.length > 1) return
    const scope = (given[0] ?? '').replaceAll(',', ' ').trim()
    if (scope !== '') return query.set('scope', scope)
    const client = await this.#options.oauth.clients.find(query.get('client_id') ?? '')
    const defaults = defaultScopes(client?.principal_kind ?? 'agent')
    const allowed =
      client === undefined ? defaults : client.scopes.filter((known) => defaults.includes(known))
    query.set('scope', allowed.join(' '))
  }
}
