import type { IncomingMessage, ServerResponse } from 'node:http'
import { callerOf } from '../auth/caller.ts'
import type { Authenticator, AuthHeaders } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { hasBody, readBody } from '../http/body.ts'
import { checkHost, type GuardSettings } from '../http/guard.ts'
import { type Asset, loadAssets } from './assets.ts'
import { readCookie, writeCookie } from './cookie.ts'
import { openDesk } from './desk.ts'
import { link, textIn } from './fields.ts'
import { type Assets, type Frame, icon, layout } from './layout.ts'
import { LivePages } from './live.ts'
import { loginPage } from './pages/login.ts'
import { onwardPage } from './pages/onward.ts'
import { problemPage } from './pages/problem.ts'
import { pendingApprovals } from './pending.ts'
import type { Page, Reply } from './reply.ts'
import { findRoute, pageOf } from './routes.ts'
import { checkSameOrigin } from './same-origin.ts'
import { signingSecret } from './secret.ts'
import { send, sendAsset, sendRedirect } from './send.ts'
import { callerFor, type SignIn, SignIns } from './sign-in.ts'

export interface ConsoleOptions {
  readonly gate: Gate
  readonly authenticator: Authenticator
  readonly guard: GuardSettings
  readonly maxBodyBytes: number
  /** All keys of the server, if people have some: sign-ins are signed with what is made of them. */
  readonly keys: readonly string[]
  readonly onError: (error: unknown) => void
}

/** Who somebody is where no key is asked for. */
const OPERATOR = 'operator'

/** Any operation will do: a person is the same for all of them. */
const ANY_CALL = { actor: 'anyone', input: { shape: {} } } as const

/** The pages for people, below /console. */
export class Console {
  readonly #options: ConsoleOptions
  readonly #signIns: SignIns
  readonly #live: LivePages
  readonly #assets: { readonly paths: Assets; readonly files: ReadonlyMap<string, Asset> }

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.#signIns = new SignIns(signingSecret(options.keys))
    this.#live = new LivePages(options.gate)
    this.#assets = loadAssets()
  }

  get #takesNames(): boolean {
    return this.#options.authenticator.trustsNames
  }

  /** Ends what pages are kept up to date by. */
  close(): void {
    this.#live.close()
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      checkHost(request.headers, this.#options.guard)
      await this.#answer(request, response)
    } catch (error) {
      if (!(error instanceof Fault)) this.#options.onError(error)
      if (response.headersSent || response.destroyed) response.destroy()
      else this.#show(response, problemPage(error instanceof Fault ? error : new Fault('INTERNAL_ERROR')))
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://console')
    const asset = this.#assets.files.get(url.pathname)
    if (asset !== undefined) return sendAsset(response, asset)
    const isForm = request.method === 'POST'
    if (isForm) checkSameOrigin(request.headers, this.#options.guard)
    switch (url.pathname) {
      case '/console/icon.svg':
        return send(response, 200, icon((url.searchParams.get('n') ?? '').slice(0, 4)), {
          type: 'image/svg+xml',
        })
      case '/console/login':
        return isForm
          ? this.#signIn(request, response)
          : this.#show(response, loginPage({ query: url.searchParams, takesNames: this.#takesNames }))
    }
    const signIn = this.#whoVisits(request, response)
    if (signIn === undefined && !isForm && request.headers['sec-fetch-site'] === 'cross-site') {
      return this.#show(response, onwardPage(ownPath(url.pathname + url.search)))
    }
    if (signIn === undefined) {
      const next = isForm ? '/console' : url.pathname + url.search
      return sendRedirect(response, link('/console/login', { next: next === '/console' ? '' : next }))
    }
    return this.#visit(request, response, url, signIn)
  }

  async #visit(request: IncomingMessage, response: ServerResponse, url: URL, signIn: SignIn): Promise<void> {
    const { gate } = this.#options
    const caller = callerFor(signIn)
    if (url.pathname === '/console/events') {
      return this.#live.serve(response, caller, textIn(url.searchParams, 'task_id'))
    }
    const form = request.method === 'POST' ? await this.#readForm(request, signIn) : new URLSearchParams()
    if (url.pathname === '/console/logout') return this.#signOut(request, response)
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    const desk = openDesk(gate, caller, Date.now(), leaving.signal)
    const frame = async (): Promise<Frame> => ({
      assets: this.#assets.paths,
      person: { name: signIn.person, token: this.#signIns.formToken(signIn), canLeave: signIn.key },
      pending: await pendingApprovals(desk),
    })
    let reply: Reply
    try {
      const found = findRoute(request.method ?? 'GET', url.pathname)
      const token = this.#signIns.formToken(signIn)
      reply = await found.route.handle({ desk, params: found.params, query: url.searchParams, form, token })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      reply = problemPage(error)
    }
    if (reply.kind === 'redirect') return sendRedirect(response, reply.to)
    // A page that shows a refused form again is at an address that takes forms only.
    const address = request.method === 'POST' ? pageOf(url.pathname) : undefined
    send(response, reply.status ?? 200, layout({ ...reply, ...(address && { address }) }, await frame()))
  }

  /** The one who has signed in; where no key is asked for, everybody is. */
  #whoVisits(request: IncomingMessage, response: ServerResponse): SignIn | undefined {
    const cookie = readCookie(request)
    const known = cookie === undefined ? undefined : this.#signIns.read(cookie)
    if (known !== undefined) return known
    try {
      return this.#enter(request, response, this.#personOf({}, OPERATOR), false)
    } catch (error) {
      if (error instanceof Fault) return undefined
      throw error
    }
  }

  #enter(request: IncomingMessage, response: ServerResponse, caller: Caller, key: boolean): SignIn {
    const signIn = this.#signIns.begin(caller, key)
    writeCookie(request, response, this.#signIns.write(signIn))
    return signIn
  }

  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readFields(request, Math.min(this.#options.maxBodyBytes, MAX_SIGN_IN_BYTES))
    const next = ownPath(form.get('next'))
    try {
      const caller = this.#personOf({ 'x-api-key': textIn(form, 'key') ?? '' }, textIn(form, 'name'))
      this.#enter(request, response, caller, true)
      sendRedirect(response, next)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const query = new URLSearchParams({ next })
      this.#show(
        response,
        loginPage({ query, takesNames: this.#takesNames, name: form.get('name') ?? '', fault: error }),
      )
    }
  }

  /** The person that a credential stands for, or that somebody names who may. */
  #personOf(headers: AuthHeaders, name: string | undefined): Caller {
    const credential = this.#options.authenticator.authenticate(headers)
    if (credential.kind === 'shared') this.#checkTrusted(name)
    const fields = credential.kind === 'bound' ? {} : { principal_kind: 'human', principal_id: name }
    const { caller } = callerOf(credential, ANY_CALL, fields)
    if (caller.principal.kind !== 'human')
      throw new Fault('FORBIDDEN', {}, 'This key is not that of a person.')
    return caller
  }

  /** The shared key is that of every agent: it proves nothing about a person. */
  #checkTrusted(name: string | undefined): void {
    if (!this.#takesNames) {
      throw new Fault('FORBIDDEN', {}, 'This is not the key of a person. Sign in with a key of your own.')
    }
    if (name === undefined) throw new Fault('VALIDATION_ERROR', { path: 'name' }, 'Say who you are.')
  }

  #signOut(request: IncomingMessage, response: ServerResponse): void {
    const isMeant = request.method === 'POST'
    if (isMeant) writeCookie(request, response, undefined)
    sendRedirect(response, isMeant ? '/console/login?notice=left' : '/console')
  }

  async #readForm(request: IncomingMessage, signIn: SignIn): Promise<URLSearchParams> {
    const form = await readFields(request, this.#options.maxBodyBytes)
    if (this.#signIns.isFormToken(signIn, form.get('token') ?? '')) return form
    throw new Fault(
      'FORBIDDEN',
      {},
      'This form is not of your sign-in, or too old. Go back, load the page again.',
    )
  }

  #show(response: ServerResponse, page: Page): void {
    send(response, page.status ?? 200, layout(page, { assets: this.#assets.paths }))
  }
}

/** Anybody can send this form. */
const MAX_SIGN_IN_BYTES = 64 * 1024

/** A form as browsers send it. */
async function readFields(request: IncomingMessage, maxBytes: number): Promise<URLSearchParams> {
  if (!hasBody(request)) return new URLSearchParams()
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(type)) throw new Fault('UNSUPPORTED_MEDIA_TYPE')
  return new URLSearchParams(await readBody(request, maxBytes))
}

/** Nobody is sent anywhere else after signing in. */
function ownPath(path: string | null): string {
  const isOwn = path !== null && /^\/console(\/[\w%.~-]+)*(\?[^#\\]*)?$/.test(path) && !path.includes('..')
  return isOwn ? path : '/console'
}
