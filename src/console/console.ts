import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { may, type Permission } from '../core/authorization.ts'
import { ERRORS, Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { listApprovals } from '../features/questions/approvals.ts'
import { Clients } from '../http/clients.ts'
import { checkHost } from '../http/guard.ts'
import { NOTICE_PARAMETERS } from './components.ts'
import { link } from './fields.ts'
import { ownPath } from './form.ts'
import { badge, icon, iconPath, layout, titleOf } from './layout.ts'
import { LivePages, type Rendered } from './live/live-pages.ts'
import { parseVersions, regionsOf, versionsOf } from './live/regions.ts'
import { pathOf, SECTIONS, type Section } from './navigation.ts'
import { type Authorizations, authorizationPage, failedAuthorizationPage } from './pages/authorization.ts'
import { errorPage, followLinkPage } from './pages/public.ts'
import { findPage, findRoute, pageOf } from './routes.ts'
import { loadAssets, SAFETY, send, sendAsset, sendDocument, sendFile, sendRedirect } from './send.ts'
import { checkSameOrigin } from './sign-in.ts'
import type { Page, Reply, Visit } from './visit.ts'
import { originOf, type Visitor, type VisitorOptions, Visitors } from './visitors.ts'

export interface ConsoleOptions extends VisitorOptions {
  readonly gate: Gate
  /** The clients of the server; those of the console alone if absent. */
  readonly clients?: Clients | undefined
  /** Where people decide about OAuth clients; undefined without an authorization server. */
  readonly authorizations?: Authorizations | undefined
  readonly onError: (error: unknown) => void
}

const AUTHORIZATION_PATH = /^\/console\/oauth\/[\w-]+$/

const MAX_COUNTED_APPROVALS = 99

/** Stands for the form token of the visitor while a page is rendered, because pages are shared between visitors. */
const TOKEN = randomBytes(24).toString('base64url')

/** The web console, below /console. */
export class Console {
  readonly #options: ConsoleOptions
  readonly #visitors: Visitors
  readonly #clients: Clients
  readonly #live: LivePages
  readonly #assets = loadAssets()

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.#clients = options.clients ?? new Clients()
    this.#visitors = new Visitors(options, this.#clients)
    const { gate, onError } = options
    this.#live = new LivePages({
      render: (caller, path) => this.#renderLive(caller, path),
      follow: (caller, listener) => gate.follow(caller, {}, listener),
      report: onError,
    })
  }

  /** Ends the event streams of open pages. */
  close(): void {
    this.#live.stop()
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
      this.#options.gate.audit.refused(error, { origin: originOf(request, response, this.#clients) })
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
      if (!isForm) return this.#show(response, this.#visitors.loginPage({ query: searchParams }))
      return this.#reply(response, await this.#visitors.signIn(request, response))
    }
    const external = await this.#visitors.signInExternally(request, response, url)
    if (external !== undefined) return this.#show(response, external)
    const visitor = await this.#visitors.visitorOf(request, response)
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
    visitor: Visitor,
  ): Promise<void> {
    const { signIn, caller: signedIn } = visitor
    const { pathname, searchParams: query } = url
    const token = this.#visitors.formToken(signIn)
    const personalize = (text: string) => text.replaceAll(TOKEN, token)
    if (pathname === '/console/events') {
      this.#visitors.endWith(visitor, response)
      const [path, known] = [ownPath(query.get('page')), parseVersions(query.get('have') ?? '')]
      return this.#live.open(response, { caller: signedIn, path, known, personalize })
    }
    const isForm = request.method === 'POST'
    const form = isForm ? await this.#visitors.readForm(request, signIn) : new URLSearchParams()
    if (pathname === '/console/logout') return this.#visitors.signOut(request, response)
    const caller = { ...signedIn, origin: originOf(request, response, this.#clients) }
    const disconnected = new AbortController()
    response.once('close', () => disconnected.abort())
    const { authorizations } = this.#options
    if (authorizations !== undefined && AUTHORIZATION_PATH.test(pathname)) {
      const visit = { authorizations, request, response, caller, path: pathname, form, token }
      return this.#show(response, await authorizationPage(visit))
    }
    const call = this.#calls(caller, disconnected.signal)
    let reply: Reply
    try {
      const { route, params } = findRoute(request.method ?? 'GET', pathname)
      reply = await route.handle({ params, query, form, ...visitOf(caller, call) })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      reply = errorPage(error)
    }
    if ('location' in reply) return sendRedirect(response, reply.location)
    if ('file' in reply) return sendFile(response, reply.file)
    const waiting = await openApprovals(call)
    const page = {
      ...reply,
      // A refused form is shown at a path that accepts only POST, and is not updated.
      ...(isForm ? { address: pageOf(pathname) } : { events: eventsOf(reply, url, waiting) }),
    }
    const person = {
      ...{ name: signIn.person, role: caller.role, token, canSignOut: signIn.key },
      reads: (section: Section) =>
        may(caller, SECTIONS[section].needs) && findPage(pathOf(section)) !== undefined,
    }
    const document = layout(page, { assets: this.#assets, person, waiting })
    sendDocument(response, reply.status ?? 200, personalize(String(document)))
  }

  #calls(caller: Caller, signal?: AbortSignal): Visit['call'] {
    return (operation, input) => {
      const given = Object.entries(input).filter(([, value]) => value !== undefined)
      return this.#options.gate.call(operation, caller, Object.fromEntries(given), signal)
    }
  }

  /** What an open page shows now; undefined if there is no such page for this caller. */
  async #renderLive(caller: Caller, path: string): Promise<Rendered | undefined> {
    const { pathname, searchParams: query } = new URL(path, 'http://console')
    const call = this.#calls(caller)
    try {
      const { route, params } = findRoute('GET', pathname)
      const visit = { params, query, form: new URLSearchParams(), ...visitOf(caller, call) }
      const reply = await route.handle(visit)
      if (!('body' in reply)) return undefined
      const waiting = await openApprovals(call)
      const { follows, poll } = reply
      const regions = regionsOf(`${badge(waiting)}${reply.body}`)
      return { title: titleOf(reply, waiting), icon: iconPath(waiting), regions, follows, poll }
    } catch (error) {
      if (error instanceof Fault && ERRORS[error.code].http < 500) return undefined
      throw error
    }
  }

  #reply(response: ServerResponse, reply: Reply): void {
    if ('location' in reply) sendRedirect(response, reply.location)
    else if ('file' in reply) sendFile(response, reply.file)
    else this.#show(response, reply)
  }

  #show(response: ServerResponse, page: Page): void {
    send(response, page.status ?? 200, layout(page, { assets: this.#assets }))
  }
}

function visitOf(caller: Caller, call: Visit['call']) {
  const mayDo = (permission: Permission) => may(caller, permission)
  return { token: TOKEN, now: Date.now(), call, may: mayDo }
}

/** The address of the events of a page, with the versions of what it shows; undefined if it never changes. */
function eventsOf({ follows, poll, body }: Page, url: URL, waiting: string): string | undefined {
  if (follows === undefined && poll === undefined) return undefined
  const query = new URLSearchParams(url.searchParams)
  for (const name of NOTICE_PARAMETERS) query.delete(name)
  const page = query.size === 0 ? url.pathname : `${url.pathname}?${query}`
  return link('/console/events', { page, have: versionsOf(regionsOf(`${badge(waiting)}${body}`)) })
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
