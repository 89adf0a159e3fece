import { ERRORS, type Fault } from '../../core/errors.ts'
import { html } from '../html.ts'
import { notice } from '../notices.ts'
import { complaint } from '../parts.ts'
import type { Page } from '../reply.ts'
import { line } from '../untrusted.ts'

export interface LoginView {
  /** `next`: where to go afterwards. */
  readonly query: URLSearchParams
  readonly name?: string
  readonly fault?: Fault
}

export function loginPage({ query, name = '', fault }: LoginView): Page {
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
<label for="name">Your name</label>
<input id="name" name="name" autocomplete="username" maxlength="64" value="${name}" aria-describedby="name-hint">
<p class="hint" id="name-hint">It stands on your decisions. Not needed if the key is your own.</p>
<label for="key">Key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required>
<button class="button primary">Sign in</button>
</form>
</div>`,
  }
}
