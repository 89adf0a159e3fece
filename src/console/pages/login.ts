import { ERRORS, type Fault } from '../../core/errors.ts'
import { type Html, html } from '../html.ts'
import { notice } from '../notices.ts'
import { complaint } from '../parts.ts'
import type { Page } from '../reply.ts'
import { line } from '../untrusted.ts'

interface LoginView {
  /** `next`: where to go afterwards. */
  readonly query: URLSearchParams
  /** Whether a person may sign in by name, without a key. */
  readonly takesNames: boolean
  readonly name?: string
  readonly fault?: Fault
}

export function loginPage({ query, takesNames, name = '', fault }: LoginView): Page {
  return {
    kind: 'page',
    title: 'Sign in',
    status: fault === undefined ? 200 : ERRORS[fault.code].http,
    body: html`<div class="card login">
<h1>Sign in</h1>
${notice(query)}
${fault && complaint(fault.code === 'UNAUTHENTICATED' ? 'This key is not known here.' : line(fault.message))}
<form method="post" action="/console/login">
<input type="hidden" name="next" value="${query.get('next') ?? ''}">
${takesNames ? byName(name) : byKey()}
<button class="button primary">Sign in</button>
</form>
</div>`,
  }
}

function byName(name: string): Html {
  return html`<label for="name">Your name</label>
<input id="name" name="name" autocomplete="username" maxlength="64" value="${name}" aria-describedby="name-hint">
<p class="hint" id="name-hint">It is recorded with your decisions. Not needed with a key of your own.</p>
<label for="key">Key (optional)</label>
<input id="key" name="key" type="password" autocomplete="current-password">`
}

function byKey(): Html {
  return html`<label for="key">Your key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required aria-describedby="key-hint">
<p class="hint" id="key-hint">A key of your own, not the shared key of agents and workers.</p>`
}
