import type { IncomingMessage, ServerResponse } from 'node:http'
import { CALLBACK_PATH } from '../auth/openid-provider.ts'
import { Fault } from '../core/errors.ts'
import type { Caller, IdentityRef } from '../core/principal.ts'
import type { ProvedIdentity } from '../features/identities/record.ts'
import type { GuardSettings } from '../http/guard.ts'
import { MAX_SIGN_IN_BYTES, ownPath, readForm } from './form.ts'
import { BEGIN_PATH, followLinkPage, type LoginView, unknownPersonPage } from './pages/public.ts'
import { isSame, readCookie, setCookie } from './sign-in.ts'
import { TRANSACTION_SECONDS, type Transaction, Transactions } from './transactions.ts'
import type { Page } from './visit.ts'

/** The form of the sign-in page is sent to a path below this one, and the provider sends the browser back to another. */
const COOKIE_PATH = '/console/oidc'
const COOKIE = 'asyncgate_oidc'

/** An identity provider, where people prove who they are. */
export interface IdentityProvider {
  /** The name of the provider for people. */
  readonly name: string
  readonly provider: {
    begin(): Promise<{ readonly url: string; readonly checks: Transaction['checks'] }>
    finish(query: string, checks: Transaction['checks']): Promise<ProvedIdentity>
  }
  readonly sessions: {
    callerOf(proved: ProvedIdentity): Promise<Caller | undefined>
    current(ref: IdentityRef): Promise<Caller | undefined>
    watch(ref: IdentityRef, end: () => void): () => void
  }
}

/** One request of a browser that signs in. */
export interface SigningIn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  /** Signs the person in. */
  signIn(caller: Caller): void
  /** Records that a sign-in was refused. */
  refused(reason: string, subject?: string): void
  loginPage(view: Pick<LoginView, 'query' | 'fault'>): Page
}

/**
 * Sign-ins through an identity provider. A cookie binds each of them to the browser that has begun it, so that no other
 * site can sign a person in as someone else. Unlike the cookie of a sign-in, it is sent when the provider redirects the
 * browser.
 */
export class ExternalSignIns {
  readonly #provider: IdentityProvider['provider']
  readonly #sessions: IdentityProvider['sessions']
  readonly #transactions: Transactions
  readonly #guard: GuardSettings

  constructor({ provider, sessions }: IdentityProvider, secret: Buffer, guard: GuardSettings) {
    this.#provider = provider
    this.#sessions = sessions
    this.#transactions = new Transactions(secret)
    this.#guard = guard
  }

  isFor({ method }: IncomingMessage, path: string): boolean {
    return method === 'POST' ? path === BEGIN_PATH : method === 'GET' && path === CALLBACK_PATH
  }

  async handle(visit: SigningIn): Promise<Page> {
    const { request } = visit
    let next = ''
    try {
      if (request.method !== 'POST') {
        const transaction = this.#transactionOf(visit)
        next = transaction.next
        return await this.#finish(visit, transaction)
      }
      next = ownPath((await readForm(request, MAX_SIGN_IN_BYTES)).get('next'))
      // A redirect after a form could not leave this site: the policy of the page forbids it. A link can.
      return followLinkPage(await this.#begin(visit, next))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      visit.refused(error.message)
      return visit.loginPage({ query: new URLSearchParams({ next }), fault: error })
    }
  }

  /** Resolves with the address of the provider at which the browser continues. */
  async #begin(visit: SigningIn, next: string): Promise<string> {
    const { url, checks } = await this.#provider.begin()
    this.#setCookie(visit, this.#transactions.write({ checks, next }))
    return url
  }

  /** The browser has come back from the provider. A sign-in can be finished once. */
  async #finish(visit: SigningIn, { checks, next }: Transaction): Promise<Page> {
    this.#setCookie(visit, undefined)
    const proved = await this.#provider.finish(visit.url.search, checks)
    const caller = await this.#sessions.callerOf(proved)
    if (caller === undefined) {
      visit.refused('No admin has allowed this person to sign in.', proved.subject)
      return unknownPersonPage(proved)
    }
    visit.signIn(caller)
    // Not a redirect: the browser would withhold the cookie, because the provider has sent it here.
    return followLinkPage(next)
  }

  /** The transaction that this browser has begun. */
  #transactionOf({ request, url }: SigningIn): Transaction {
    const cookie = readCookie(request, this.#guard, COOKIE)
    const transaction = cookie === undefined ? undefined : this.#transactions.read(cookie)
    const state = url.searchParams.get('state') ?? ''
    if (transaction === undefined || !isSame(state, transaction.checks.state)) throw notBegun()
    return transaction
  }

  #setCookie({ request, response }: SigningIn, value: string | undefined): void {
    const attributes = { path: COOKIE_PATH, seconds: TRANSACTION_SECONDS, sameSite: 'Lax' } as const
    setCookie(request, response, { name: COOKIE, value, ...attributes }, this.#guard)
  }
}

function notBegun(): Fault {
  return new Fault(
    'FORBIDDEN',
    {},
    'This sign-in has expired, was finished before, or was begun in another browser or at another address. Sign in again.',
  )
}
