import type { IncomingMessage, ServerResponse } from 'node:http'
import { callerOf } from '../auth/caller.ts'
import type { Authenticator, BoundCredential, Credential } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import { type Caller, DEFAULT_TENANT, principalKey } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import type { Clients } from '../http/clients.ts'
import { endWithKey } from '../http/context.ts'
import type { GuardSettings } from '../http/guard.ts'
import { HttpOrigin, requestIdHeader } from '../http/origin.ts'
import { ExternalSignIns, type IdentityProvider } from './external-sign-in.ts'
import { textIn } from './fields.ts'
import { MAX_SIGN_IN_BYTES, ownPath, readForm } from './form.ts'
import { type LoginView, loginPage } from './pages/public.ts'
import { sendRedirect } from './send.ts'
import { callerFor, readCookie, type SignIn, SignIns, writeCookie } from './sign-in.ts'
import type { Page, Reply } from './visit.ts'

export interface VisitorOptions {
  readonly gate: Pick<Gate, 'audit'>
  readonly authenticator: Authenticator
  readonly guard: GuardSettings
  readonly maxBodyBytes: number
  /** Signs the cookies of sign-ins. */
  readonly secret: Buffer
  /** Where people can sign in besides with a key; undefined if no provider is configured. */
  readonly external?: IdentityProvider | undefined
}

/** The name of the person on a server that requires no key. */
const OPERATOR = 'operator'

/** The caller of a person is the same for every operation. */
const ANY_CALL = { actor: 'anyone', input: { shape: {} } } as const

export interface Visitor {
  readonly signIn: SignIn
  readonly caller: Caller
  /** The issued key of the sign-in. */
  readonly credential?: BoundCredential
}

/** Where a request to the console comes from. */
export function originOf(request: IncomingMessage, response: ServerResponse, clients: Clients): HttpOrigin {
  return new HttpOrigin(request, response, clients, requestIdHeader(response))
}

/** Signs people in and out, and recognizes them by their cookies. */
export class Visitors {
  readonly #options: VisitorOptions
  readonly #signIns: SignIns
  readonly #external: ExternalSignIns | undefined
  readonly #clients: Clients

  constructor(options: VisitorOptions, clients: Clients) {
    this.#options = options
    this.#clients = clients
    this.#signIns = new SignIns(options.secret)
    const { external, secret, guard } = options
    this.#external = external && new ExternalSignIns(external, secret, guard)
  }

  get #acceptsNames(): boolean {
    return this.#options.authenticator.trustsNames
  }

  /** The visitor that a request comes from. A server that requires no key signs every visitor in. */
  async visitorOf(request: IncomingMessage, response: ServerResponse): Promise<Visitor | undefined> {
    const cookie = readCookie(request, this.#options.guard)
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

  /** Ends a response when the sign-in of its visitor ends. */
  endWith({ caller, credential }: Visitor, response: ServerResponse): void {
    if (credential !== undefined) endWithKey(this.#options, response, credential)
    if (caller.identity === undefined) return
    const unsubscribe = this.#options.external?.sessions.watch(caller.identity, () => response.destroy())
    if (unsubscribe !== undefined) response.once('close', unsubscribe)
  }

  formToken(signIn: SignIn): string {
    return this.#signIns.formToken(signIn)
  }

  /** The form of a page that was shown to this sign-in. */
  async readForm(request: IncomingMessage, signIn: SignIn): Promise<URLSearchParams> {
    const form = await readForm(request, this.#options.maxBodyBytes)
    if (this.#signIns.isFormToken(signIn, form.get('token') ?? '')) return form
    throw new Fault('FORBIDDEN', {}, 'This form has expired or belongs to another sign-in. Reload the page.')
  }

  #begin(request: IncomingMessage, response: ServerResponse, caller: Caller, key: boolean): SignIn {
    const signIn = this.#signIns.begin(caller, key)
    writeCookie(request, response, this.#signIns.write(signIn), this.#options.guard)
    return signIn
  }

  /** Signs a person in with the form of the sign-in page. */
  async signIn(request: IncomingMessage, response: ServerResponse): Promise<Reply> {
    const form = await readForm(request, Math.min(this.#options.maxBodyBytes, MAX_SIGN_IN_BYTES))
    const next = ownPath(form.get('next'))
    try {
      const headers = { 'x-api-key': textIn(form, 'key') ?? '' }
      const credential = await this.#clients.authenticate(request, (admit) =>
        this.#options.authenticator.authenticate(headers, undefined, admit),
      )
      const caller = this.#personOf(credential, textIn(form, 'name'))
      this.#begin(request, response, caller, true)
      this.#recordSignIn(request, response, caller)
      return { location: next }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#recordRefusal(request, response, error.message)
      const name = form.get('name') ?? ''
      return this.loginPage({ query: new URLSearchParams({ next }), name, fault: error })
    }
  }

  /** The page of a sign-in at the identity provider; undefined if the request belongs to none. */
  async signInExternally(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<Page | undefined> {
    if (!this.#external?.isFor(request, url.pathname)) return undefined
    return this.#external.handle({
      ...{ request, response, url },
      signIn: (caller) => {
        this.#begin(request, response, caller, true)
        this.#recordSignIn(request, response, caller)
      },
      refused: (reason, subject) => this.#recordRefusal(request, response, reason, subject),
      loginPage: (view) => this.loginPage(view),
    })
  }

  signOut(request: IncomingMessage, response: ServerResponse): void {
    const isForm = request.method === 'POST'
    if (isForm) writeCookie(request, response, undefined, this.#options.guard)
    sendRedirect(response, isForm ? '/console/login?notice=left' : '/console')
  }

  loginPage(view: Pick<LoginView, 'query' | 'name' | 'fault'>): Page {
    return loginPage({ ...view, acceptsNames: this.#acceptsNames, provider: this.#options.external?.name })
  }

  #recordSignIn(request: IncomingMessage, response: ServerResponse, caller: Caller): void {
    const { tenant, principal, key_id, identity } = caller
    const origin = originOf(request, response, this.#clients)
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
    const origin = originOf(request, response, this.#clients)
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
}
