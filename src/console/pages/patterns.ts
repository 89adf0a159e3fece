import type { PatternView } from '../../features/policies/shape.ts'
import type { Attempt } from '../attempt.ts'
import { type Html, html } from '../html.ts'
import { form } from '../parts.ts'
import { line } from '../untrusted.ts'

interface PatternsView {
  readonly patterns: readonly PatternView[]
  readonly token: string
  readonly attempt?: Attempt
}

/** The patterns that redaction rules can name. */
export function patternsSection({ patterns, token, attempt }: PatternsView): Html {
  const typed = (name: string) => (attempt?.form.has('pattern') ? (attempt.form.get(name) ?? '') : '')
  return html`<section aria-labelledby="h-patterns"><h2 id="h-patterns">Redaction patterns</h2>
<p class="soft">Regular expressions as RE2 has them, which rules with the action REDACT name.</p>
<ul class="rows patterns">${patterns.map((pattern) => row(pattern, token))}</ul>
<details${typed('name') + typed('pattern') !== '' && html` open`}><summary>New pattern</summary>
${form(
  token,
  '/console/policies/patterns',
  html`<label for="p-name">Name</label><input id="p-name" name="name" required value="${typed('name')}" autocomplete="off" spellcheck="false">
<label for="p-pattern">Pattern</label><input id="p-pattern" name="pattern" class="code" required value="${typed('pattern')}" autocomplete="off" spellcheck="false">
<label for="p-replacement">Put in its place</label><input id="p-replacement" name="replacement" placeholder="[REDACTED]" value="${typed('replacement')}" autocomplete="off">
<label for="p-description">Description</label><input id="p-description" name="description" value="${typed('description')}" autocomplete="off">
<button class="button">Save pattern</button>`,
)}</details></section>`
}

function row({ name, pattern, enabled, description, source }: PatternView, token: string): Html {
  const keep = html`<input type="hidden" name="name" value="${name}"><input type="hidden" name="enabled" value="${enabled ? 'false' : 'true'}">`
  return html`<li class="row${enabled ? '' : ' off'}">
<span class="row-main"><span class="row-title">${line(name, 64)}</span><code class="row-sub">${line(pattern, 300)}</code></span>
<span class="row-why soft">${line(description ?? '', 200)}</span>
<span class="row-buttons">${
    source !== 'api'
      ? html`<span class="chip">${source === 'file' ? 'fixed' : 'built in'}</span>`
      : html`${form(token, '/console/policies/patterns/enable', html`${keep}<button class="button small">${enabled ? 'Disable' : 'Enable'}<span class="quiet"> ${line(name, 64)}</span></button>`)}${form(token, '/console/policies/patterns/remove', html`<input type="hidden" name="name" value="${name}"><button class="button small danger">Remove<span class="quiet"> ${line(name, 64)}</span></button>`)}`
  }</span>
</li>`
}
