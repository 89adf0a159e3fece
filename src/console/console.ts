import type { IncomingMessage, ServerResponse } from 'node:http'
import { may } from '../core/authorization.ts'
import { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { listApprovals } from '../features/questions/approvals.ts'
import { Clients } from '../http/clients.ts'
import { EventStreams } from '../http/event-stream.ts'
import { checkHost } from '../http/guard.ts'
import { link, textIn } from './fields.ts'
import { ownPath } from './form.ts'
import { icon, layout } from './layout.ts'
import { pathOf, SECTIONS, type Section } from './navigation.ts'
import { type Authorizations, authorizationPage, failedAuthorizationPage } from './pages/authorization.ts'
import { errorPage, followLinkPage } from './pages/public.ts'
import { findRoute, pageOf } from './routes.ts'
import { loadAssets, SAFETY, send, sendAsset, sendRedirect } from './send.ts'
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

/** Minimum interval between the events that a page receives. */
const EVENT_INTERVAL_MS = 300

const MAX_COUNTED_APPROVALS = 99

/** The web console, below /console. */
export class Console {
  readonly #options: ConsoleOptions
  readonly #visitors: Visitors
  readonly #clients: Clients
  readonly #streams = new EventStreams()
  readonly #assets = loadAssets()

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.#clients = options.clients ?? new Clients()
    this.#visitors = new Visitors(options, this.#clients)
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
    const { signIn, caller } = visitor
    const { gate } = this.#options
    const { pathname, searchParams: query } = url
    if (pathname === '/console/events') {
      this.#visitors.endWith(visitor, response)
      return this.#stream(response, caller, textIn(query, 'task_id'))
    }
    const isForm = request.method === 'POST'
    const form = isForm ? await this.#visitors.readForm(request, signIn) : new URLSearchParams()
    if (pathname === '/console/logout') return this.#visitors.signOut(request, response)
    const origin = originOf(request, response, this.#clients)
    const disconnected = new AbortController()
    response.once('close', () => disconnected.abort())
    const call: Visit['call'] = (operation, input) => {
      const given = Object.entries(input).filter(([, value]) => value !== undefined)
      return gate.call(operation, { ...caller, origin }, Object.fromEntries(given), disconnected.signal)
    }
    const token = this.#visitors.formToken(signIn)
    const { authorizations } = this.#options
    if (authorizations !== undefined && AUTHORIZATION_PATH.test(pathname)) {
      const asking = { ...caller, origin }
      const visit = { authorizations, request, response, caller: asking, path: pathname, form, token }
      return this.#show(response, await authorizationPage(visit))
    }
    let reply: Reply
    try {
      const { route, params } = findRoute(request.method ?? 'GET', pathname)
      reply = await route.handle({
        params,
        query,
        form,
        token,
        now: Date.now(),
        call,
        may: (permission) => may(caller, permission),
      })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      reply = errorPage(error)
    }
    if ('location' in reply) return sendRedirect(response, reply.location)
    // A refused form is shown at a path that accepts only POST.
    const address = isForm ? pageOf(pathname) : undefined
    const reads = (section: Section) =>
      may(caller, SECTIONS[section].needs) && pageOf(pathOf(section)) !== undefined
    const person = { name: signIn.person, role: caller.role, token, canSignOut: signIn.key, reads }
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

  #reply(response: ServerResponse, reply: Reply): void {
    if ('location' in reply) sendRedirect(response, reply.location)
    else this.#show(response, reply)
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
