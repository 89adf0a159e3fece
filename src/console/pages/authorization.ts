import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../../core/errors.ts'
import type { Caller, Principal } from '../../core/principal.ts'
import { SCOPE_DESCRIPTIONS, type Scope } from '../../core/scopes.ts'
import { type Html, html } from '../../util/html.ts'
import { facts, form, heading, identifier, line, principal, time } from '../components.ts'
import type { Page } from '../visit.ts'
import { followLinkPage } from './public.ts'

/** What an OAuth client asks a person for. */
interface AuthorizationRequest {
  readonly client_id: string
  readonly client_name: string
  /** Where the name of the client comes from. */
  readonly origin: 'registered' | 'document' | 'self-registered'
  readonly redirect_uri: string
  readonly principal: Principal
  readonly scopes: readonly Scope[]
  /** What the client asks for and the person cannot grant. */
  readonly withheld: readonly Scope[]
  readonly expires_at: number
}

/** Authorization requests of OAuth clients. The browser proves with its cookie which of them it has begun. */
export interface Authorizations {
  find(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<AuthorizationRequest>
  /** Resolves with the path at which the browser continues. */
  allow(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<string>
  /** Resolves with the path at which the browser continues. */
  deny(request: IncomingMessage, response: ServerResponse): Promise<string>
}

export interface AuthorizationVisit {
  readonly authorizations: Authorizations
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller
  readonly path: string
  readonly form: URLSearchParams
  readonly token: string
}

/** Asks the person, or carries out their decision. */
export async function authorizationPage(visit: AuthorizationVisit): Promise<Page> {
  const { authorizations, request, response, caller, form: sent } = visit
  if (request.method !== 'POST') return question(await authorizations.find(request, response, caller), visit)
  // A redirect after a form could not leave this site: the policy of the page forbids it. A link can.
  const decision = sent.get('decision')
  if (decision === 'allow') return followLinkPage(await authorizations.allow(request, response, caller))
  if (decision === 'deny') return followLinkPage(await authorizations.deny(request, response))
  throw new Fault('VALIDATION_ERROR', { path: 'decision' }, 'Choose Allow or Refuse.')
}

const ORIGINS: Readonly<Record<AuthorizationRequest['origin'], string>> = {
  registered: 'An admin of your tenant has registered it.',
  document: 'It is not registered here. The name comes from its address.',
  'self-registered': 'It has registered itself. Its name was not checked.',
}

function question(asked: AuthorizationRequest, { token, path }: AuthorizationVisit): Page {
  const { client_id, client_name, origin, redirect_uri, scopes, withheld, expires_at } = asked
  const { host, protocol } = new URL(redirect_uri)
  return {
    title: 'Allow access',
    body: html`<div class="card consent">
${heading(html`Allow ${line(client_name, 80)} to use AsyncGate?`)}
<p class="soft">${ORIGINS[origin]}</p>
${facts([
  { name: 'Client', value: identifier(client_id) },
  { name: 'Returns to', value: html`<strong>${line(host === '' ? protocol : host, 200)}</strong>` },
  { name: 'Acts as', value: principal(asked.principal) },
  { name: 'Ends', value: time(new Date(expires_at).toISOString(), Date.now()) },
])}
<h2>It will be able to</h2>
${scopes.length === 0 ? html`<p>Nothing: your role allows nothing of what it asks for.</p>` : list(scopes)}
${withheld.length > 0 && html`<h2>It also asks for what you cannot grant</h2>${list(withheld)}`}
${form(
  token,
  path,
  html`${scopes.length > 0 && html`<button class="button primary" name="decision" value="allow">Allow</button>`}
<button class="button" name="decision" value="deny">Refuse</button>`,
)}
</div>`,
  }
}

function list(scopes: readonly Scope[]): Html {
  return html`<ul>${scopes.map(
    (scope) => html`<li>${SCOPE_DESCRIPTIONS[scope]} <span class="soft">${scope}</span></li>`,
  )}</ul>`
}

/** An authorization request that cannot be answered by a redirect to the client. */
export function failedAuthorizationPage(description: string): Page {
  return {
    title: 'Access was not granted',
    body: html`<div class="problem"><h1>The application cannot be allowed</h1>
<p>${line(description, 300)}</p>
<p class="soft">Start again in the application. If it happens again, its settings or its registration are wrong.</p></div>`,
  }
}
