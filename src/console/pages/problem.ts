import { ERRORS, type Fault } from '../../core/errors.ts'
import { html } from '../html.ts'
import type { Page } from '../reply.ts'
import { line } from '../untrusted.ts'

/** Hints are for callers of the API; these are for who looks at a page. */
const NEXT: Readonly<Record<string, string>> = {
  NOT_FOUND: 'Use the navigation to go on.',
  METHOD_NOT_ALLOWED: 'Use the navigation to go on.',
  FORBIDDEN: 'Somebody with the rights for it has to do this.',
  TASK_NOT_FOUND: 'The address may be wrong, or the task has been cleaned up.',
}

export function problemPage(fault: Fault): Page {
  const { http, hint } = ERRORS[fault.code]
  const { settings } = fault.details
  return {
    kind: 'page',
    title: String(http),
    status: http,
    body: html`<div class="problem">
<h1>${line(fault.message, 300)}</h1>
<p>${NEXT[fault.code] ?? hint}</p>
${Array.isArray(settings) && html`<p>Settings: ${settings.map((name) => html`<code>${line(String(name))}</code> `)}</p>`}
<p class="soft"><code>${fault.code}</code></p>
<p><a class="button" href="/console">To the approvals</a></p>
</div>`,
  }
}
