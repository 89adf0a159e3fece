import type { IncomingMessage, ServerResponse } from 'node:http'
import { callerOf } from '../auth/caller.ts'
import type { Authenticator, BoundCredential, Credential } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import { type Caller, DEFAULT_TENANT, type IdentityRef, principalKey } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { listApprovals } from '../features/questions/approvals.ts'
import { Clients } from '../http/clients.ts'
import { endWithKey } from '../http/context.ts'
import { EventStreams } from '../http/event-stream.ts'
import { checkHost, type GuardSettings } from '../http/guard.ts'
import { HttpOrigin, requestIdHeader } from '../http/origin.ts'
import { ExternalSignIns, type IdentityProvider } from './external-sign-in.ts'
import { link, textIn } from './fields.ts'
import { MAX_SIGN_IN_BYTES, ownPath, readForm } from './form.ts'
import { icon, layout } from './layout.ts'
import { type Authorizations, authorizationPage, failedAuthorizationPage } from './pages/authorization.ts'
import { errorPage, followLinkPage, type LoginView, loginPage } from './pages/public.ts'
import { findRoute, pageOf } from './routes.ts'
import { loadAssets, SAFETY, send, sendAsset, sendRedirect } from './send.ts'
import { callerFor, checkSameOrigin, readCookie, type SignIn, SignIns, writeCookie } from './sign-in.ts'
import type { Page, Reply, Visit } from './visit.ts'

export interface ConsoleOptions {
  readonly gate: Gate
  readonly authenticator: Authenticator
  readonly guard: GuardSettings
  /** The clients of the server; those of the console alone if absent. */
  readonly clients?: Clients | undefined
  readonly maxBodyBytes: number
  /** Signs the cookies of sign-ins. */
  readonly secret: Buffer
  /** Where people decide about OAuth clients; undefined without an authorization server. */
  readonly authorizations?: Authorizations | undefined
  /** Where people can sign in besides with a key; undefined if no provider is configured. */
  readonly external?: IdentityProvider | undefined
  readonly onError: (error: unknown) => void
}

const AUTHORIZATION_PATH = /^\/console\/oauth\/[\w-]+$/

/** The name of the person on a server that requires no key. */
const OPERATOR = 'operator'

/** The caller of a person is the same for every operation. */
const ANY_CALL = { actor: 'anyone', input: { shape: {} } } as const

/** Minimum interval between the events that a page receives. */
const EVENT_INTERVAL_MS = 300

const MAX_COUNTED_APPROVALS = 99

interface Visitor {
  readonly signIn: SignIn
  readonly caller: Caller
  /** The issued key of the sign-in. */
  readonly credential?: BoundCredential
}

/** The web console, below /console. */
export class Console {
  readonly #options: ConsoleOptions
  readonly #signIns: SignIns
  readonly #external: ExternalSignIns | undefined
  readonly #clients: Clients
  readonly #streams = new EventStreams()
  readonly #assets = loadAssets()

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.#signIns = new SignIns(options.secret)
    const { external, secret, guard } = options
    this.#external = external && new ExternalSignIns(external, secret, guard)
    this.#clients = options.clients ?? new Clients()
  }

  get #acceptsNames(): boolean {
    return this.#options.authenticator.trustsNames
  }

  /** Ends the event streams of open pages. */
  close(): void {
    this.#streams.stop()
  }

  /** The document for a person whose authorization of an OAuth client has failed. */
  renderAuthorizationError(description: string): { readonly html: string; readonly headers: object } {
    const page = layout(failedAuthorizationPage(description), { assets: this.#assets })
    return { html: String(page), headers: SAFETY }
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      checkHost(request.headers, this.#options.guard)
      await this.#respond(request, response)
    } catch (error) {
      this.#options.gate.audit.refused(error, { origin: this.#originOf(request, response) })
      if (!(error instanceof Fault)) this.#options.onError(error)
      if (response.headersSent || response.destroyed) response.destroy()
      else this.#show(response, errorPage(error instanceof Fault ? error : new Fault('INTERNAL_ERROR')))
    }
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://console')
    const { pathname, searchParams } = url
    const asset = Object.values(this.#assets).find(({ path }) => path === pathname)
    if (asset !== undefined) return sendAsset(response, asset)
    const isForm = request.method === 'POST'
    if (isForm) checkSameOrigin(request.headers, this.#options.guard)
    if (pathname === '/console/icon.svg') {
      return send(response, 200, icon((searchParams.get('n') ?? '').slice(0, 4)), 'image/svg+xml')
    }
    if (pathname === '/console/login') {
      if (isForm) return this.#signIn(request, response)
      return this.#show(response, this.#loginPage({ query: searchParams }))
    }
    if (this.#external?.isFor(request, pathname)) {
      return this.#show(response, await this.#signInExternally(request, response, url, this.#external))
    }
    const visitor = await this.#visitorOf(request, response)
    if (visitor !== undefined) return this.#visit(request, response, url, visitor)
    if (!isForm && request.headers['sec-fetch-site'] === 'cross-site') {
      return this.#show(response, followLinkPage(ownPath(pathname + url.search)))
    }
    const next = isForm || pathname + url.search === '/console' ? '' : pathname + url.search
    return sendRedirect(response, link('/console/login', { next }))
  }

  async #visit(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    { signIn, caller, credential }: Visitor,
  ): Promise<void> {
    const { gate } = this.#options
    const { pathname, searchParams: query } = url
    if (pathname === '/console/events') {
      if (credential !== undefined) endWithKey(this.#options, response, credential)
      if (caller.identity !== undefined) this.#endWithIdentity(response, caller.identity)
      return this.#stream(response, caller, textIn(query, 'task_id'))
    }
    const isForm = request.method === 'POST'
    const form = isForm ? await this.#readForm(request, signIn) : new URLSearchParams()
    if (pathname === '/console/logout') return this.#signOut(request, response)
    const origin = this.#originOf(request, response)
    const disconnected = new AbortController()
    response.once('close', () => disconnected.abort())
    const call: Visit['call'] = (operation, input) => {
      const given = Object.entries(input).filter(([, value]) => value !== undefined)
      return gate.call(operation, { ...caller, origin }, Object.fromEntries(given), disconnected.signal)
    }
    const token = this.#signIns.formToken(signIn)
    const { authorizations } = this.#options
    if (authorizations !== undefined && AUTHORIZATION_PATH.test(pathname)) {
      const asking = { ...caller, origin }
      const visit = { authorizations, request, response, caller: asking, path: pathname, form, token }
      return this.#show(response, await authorizationPage(visit))
    }
    let reply: Reply
    try {
      const { route, params } = findRoute(request.method ?? 'GET', pathname)
      reply = await route.handle({ params, query, form, token, now: Date.now(), call })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      reply = errorPage(error)
    }
    if ('location' in reply) return sendRedirect(response, reply.location)
    // A refused form is shown at a path that accepts only POST.
    const address = isForm ? pageOf(pathname) : undefined
    const person = { name: signIn.person, token, canSignOut: signIn.key }
    const frame = { assets: this.#assets, person, waiting: await openApprovals(call) }
    send(response, reply.status ?? 200, layout({ ...reply, ...(address && { address }) }, frame))
  }

  /** Notifies a page of changes. The page then loads its current content. */
  #stream(response: ServerResponse, caller: Caller, task_id: string | undefined): Promise<void> {
    let due: NodeJS.Timeout | undefined
    response.once('close', () => clearTimeout(due))
    return this.#streams.serve(response, 'retry: 3000\n\n', (stream) =>
      this.#options.gate.follow(caller, task_id === undefined ? {} : { task_id }, () => {
        due ??= setTimeout(() => {
          due = undefined
          stream.push('event: changed\ndata: {}\n\n')
        }, EVENT_INTERVAL_MS)
      }),
    )
  }

  /** The visitor that a request comes from. A server that requires no key signs every visitor in. */
  async #visitorOf(request: IncomingMessage, response: ServerResponse): Promise<Visitor | undefined> {
    const cookie = readCookie(request)
    const known = cookie === undefined ? undefined : this.#signIns.read(cookie)
    if (known?.key_id !== undefined) return this.#visitorWithKey(known, known.key_id)
    if (known?.identity !== undefined) {
      const caller = await this.#options.external?.sessions.current(known.identity)
      return caller && { signIn: known, caller }
    }
    if (known !== undefined) return { signIn: known, caller: callerFor(known) }
    try {
      const caller = this.#personOf(await this.#options.authenticator.authenticate({}), OPERATOR)
      return { signIn: this.#begin(request, response, caller, false), caller }
    } catch (error) {
      if (error instanceof Fault) return undefined
      throw error
    }
  }

  /** A sign-in with an issued key has the current limits of the key, and ends with it. */
  async #visitorWithKey(signIn: SignIn, keyId: string): Promise<Visitor | undefined> {
    const credential = await this.#options.authenticator.issued?.current(keyId)
    if (credential === undefined) return undefined
    const { kind: _, ...caller } = credential
    return { signIn, caller, credential }
  }

  #endWithIdentity(response: ServerResponse, identity: IdentityRef): void {
    const unsubscribe = this.#options.external?.sessions.watch(identity, () => response.destroy())
    if (unsubscribe !== undefined) response.once('close', unsubscribe)
  }

  #begin(request: IncomingMessage, response: ServerResponse, caller: Caller, key: boolean): SignIn {
    const signIn = this.#signIns.begin(caller, key)
    writeCookie(request, response, this.#signIns.write(signIn), this.#options.guard)
    return signIn
  }

  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request, Math.min(this.#options.maxBodyBytes, MAX_SIGN_IN_BYTES))
    const next = ownPath(form.get('next'))
    try {
      const headers = { 'x-api-key': textIn(form, 'key') ?? '' }
      const credential = await this.#clients.authenticate(request, () =>
        this.#options.authenticator.authenticate(headers),
      )
      const caller = this.#personOf(credential, textIn(form, 'name'))
      this.#begin(request, response, caller, true)
      this.#recordSignIn(request, response, caller)
      sendRedirect(response, next)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#recordRefusal(request, response, error.message)
      const name = form.get('name') ?? ''
      this.#show(response, this.#loginPage({ query: new URLSearchParams({ next }), name, fault: error }))
    }
  }

  #signInExternally(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    external: ExternalSignIns,
  ): Promise<Page> {
    return external.handle({
      ...{ request, response, url },
      signIn: (caller) => {
        this.#begin(request, response, caller, true)
        this.#recordSignIn(request, response, caller)
      },
      refused: (reason, subject) => this.#recordRefusal(request, response, reason, subject),
      loginPage: (view) => this.#loginPage(view),
    })
  }

  #recordSignIn(request: IncomingMessage, response: ServerResponse, caller: Caller): void {
    const { tenant, principal, key_id, identity } = caller
    const origin = this.#originOf(request, response)
    this.#options.gate.audit.record({
      event: 'console_sign_in',
      tenant,
      principal: principalKey(principal),
      key_id,
      subject: identity?.id,
      origin,
    })
  }

  #recordRefusal(request: IncomingMessage, response: ServerResponse, reason: string, subject?: string): void {
    const origin = this.#originOf(request, response)
    this.#options.gate.audit.record({
      event: 'console_sign_in_failure',
      tenant: DEFAULT_TENANT,
      subject,
      reason,
      origin,
    })
  }

  /** The person of a credential, or the named person where names are accepted. */
  #personOf(credential: Credential, name: string | undefined): Caller {
    if (credential.kind === 'shared') this.#checkName(name)
    // A sign-in has neither the scopes nor the end of a token.
    else if (credential.token !== undefined)
      throw new Fault('FORBIDDEN', {}, 'An access token cannot be used to sign in. Use your own key.')
    const fields = credential.kind === 'bound' ? {} : { principal_kind: 'human', principal_id: name }
    const { caller } = callerOf(credential, ANY_CALL, fields)
    if (caller.principal.kind !== 'human')
      throw new Fault('FORBIDDEN', {}, 'This key does not belong to a person.')
    return caller
  }

  /** Every agent has the shared key, so it proves nothing about a person. */
  #checkName(name: string | undefined): void {
    if (!this.#acceptsNames) {
      throw new Fault('FORBIDDEN', {}, 'This is not a personal key. Sign in with your own key.')
    }
    if (name === undefined) throw new Fault('VALIDATION_ERROR', { path: 'name' }, 'Enter your name.')
  }

  #signOut(request: IncomingMessage, response: ServerResponse): void {
    const isForm = request.method === 'POST'
    if (isForm) writeCookie(request, response, undefined, this.#options.guard)
    sendRedirect(response, isForm ? '/console/login?notice=left' : '/console')
  }

  async #readForm(request: IncomingMessage, signIn: SignIn): Promise<URLSearchParams> {
    const form = await readForm(request, this.#options.maxBodyBytes)
    if (this.#signIns.isFormToken(signIn, form.get('token') ?? '')) return form
    throw new Fault('FORBIDDEN', {}, 'This form has expired or belongs to another sign-in. Reload the page.')
  }

  #originOf(request: IncomingMessage, response: ServerResponse): HttpOrigin {
    return new HttpOrigin(request, response, this.#clients, requestIdHeader(response))
  }

  #loginPage(view: Pick<LoginView, 'query' | 'name' | 'fault'>): Page {
    return loginPage({ ...view, acceptsNames: this.#acceptsNames, provider: this.#options.external?.name })
  }

  #show(response: ServerResponse, page: Page): void {
    send(response, page.status ?? 200, layout(page, { assets: this.#assets }))
  }
}

/** The number of open approvals for the navigation; empty if the person cannot list them. */
async function openApprovals(call: Visit['call']): Promise<string> {
  try {
    const { approvals, next_cursor } = await call(listApprovals, {
      state: 'open',
      limit: MAX_COUNTED_APPROVALS,
    })
    return approvals.length === 0 ? '' : `${approvals.length}${next_cursor === null ? '' : '+'}`
  } catch (error) {
    if (error instanceof Fault) return ''
    throw error
  }
}
