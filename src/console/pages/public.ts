import { ERRORS, type Fault } from '../../core/errors.ts'
import type { ProvedIdentity } from '../../features/identities/record.ts'
import { type Html, html } from '../../util/html.ts'
import { errorBox, facts, line, notice, statusOf } from '../components.ts'
import type { Page } from '../visit.ts'

export interface LoginView {
  /** `next` is the path after signing in. */
  readonly query: URLSearchParams
  /** Whether a person may sign in with a name instead of a key. */
  readonly acceptsNames: boolean
  readonly name?: string
  /** The name of the identity provider, if people can sign in there. */
  readonly provider?: string | undefined
  readonly fault?: Fault
}

export function loginPage({ query, acceptsNames, name = '', provider, fault }: LoginView): Page {
  return {
    title: 'Sign in',
    status: statusOf(fault),
    body: html`<div class="card login">
<h1>Sign in</h1>
${notice(query)}
${fault && errorBox(fault.code === 'UNAUTHENTICATED' ? 'Unknown key.' : line(fault.message))}
<form method="post" action="/console/login">
<input type="hidden" name="next" value="${query.get('next') ?? ''}">
${acceptsNames ? byName(name) : byKey()}
<button class="button primary">Sign in</button>
</form>
${provider !== undefined && byProvider(provider, query.get('next') ?? '')}
</div>`,
  }
}

/** Where the form for a sign-in through the identity provider is sent to. */
export const BEGIN_PATH = '/console/oidc/sign-in'

function byProvider(name: string, next: string): Html {
  return html`<form method="post" action="${BEGIN_PATH}">
<input type="hidden" name="next" value="${next}">
<button class="button">Sign in with ${line(name, 60)}</button>
</form>`
}

/** For a person who has proved who they are, and whom no admin has allowed to sign in. */
export function unknownPersonPage({ issuer, subject, email, isEmailVerified }: ProvedIdentity): Page {
  return {
    title: 'You have no access yet',
    status: 403,
    body: html`<div class="card">
<h1>You have no access yet</h1>
<p>Ask an admin of this AsyncGate server to let you sign in, and send them these lines:</p>
${facts([
  {
    name: 'Email',
    value:
      email === null
        ? 'unknown'
        : html`${line(email, 254)}${!isEmailVerified && ' (not verified by the identity provider, so the admin has to use the subject)'}`,
  },
  { name: 'Issuer', value: line(issuer, 300) },
  { name: 'Subject', value: html`<code class="id">${line(subject, 255)}</code>` },
])}
<p><a class="button" href="/console/login">Sign in in another way</a></p>
</div>`,
  }
}

function byName(name: string): Html {
  return html`<label for="name">Your name</label>
<input id="name" name="name" autocomplete="username" maxlength="64" value="${name}" aria-describedby="name-hint">
<p class="hint" id="name-hint">It is recorded with your decisions. Not needed with your own key.</p>
<label for="key">Key (optional)</label>
<input id="key" name="key" type="password" autocomplete="current-password">`
}

function byKey(): Html {
  return html`<label for="key">Your key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required aria-describedby="key-hint">
<p class="hint" id="key-hint">Your own key, not the shared key of agents and workers.</p>`
}

/** Browsers withhold the cookie when a link on another site is followed. They send it with the request of this page. */
export function followLinkPage(path: string): Page {
  return {
    title: 'One moment',
    next: path,
    body: html`<div class="problem"><h1>One moment</h1><p><a href="${path}">Continue</a></p></div>`,
  }
}

/** Hints for people. Those of the error table are for callers of the API. */
const HINTS: Readonly<Record<string, string>> = {
  NOT_FOUND:
    'The address may be wrong, or the page belongs to another version. Use the navigation to continue.',
  METHOD_NOT_ALLOWED:
    'This address only receives forms. If you have reloaded a page after sending a form, open the page again from the navigation.',
  FORBIDDEN: 'Ask an admin to do this, or to give you the role that it requires.',
  TASK_NOT_FOUND: 'The address may be wrong, or the task has been deleted.',
}

export function errorPage(fault: Fault): Page {
  const { http, hint } = ERRORS[fault.code]
  const { settings } = fault.details
  return {
    title: String(http),
    status: http,
    body: html`<div class="problem">
<h1>${line(fault.message, 300)}</h1>
<p>${HINTS[fault.code] ?? hint}</p>
${Array.isArray(settings) && html`<p>Settings: ${settings.map((name) => html`<code>${line(String(name))}</code> `)}</p>`}
<p class="soft"><code>${fault.code}</code></p>
<p><a class="button" href="/console">Go to the first page</a></p>
</div>`,
  }
}
