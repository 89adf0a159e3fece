import type { PatternView, PolicyView } from '../../features/policies/shape.ts'
import type { Tested } from '../../features/policies/test-policy.ts'
import { type Attempt, complaintOf, statusOf } from '../attempt.ts'
import { type Content, type Html, html } from '../html.ts'
import { notice } from '../notices.ts'
import { empty, form, heading, jsonBlock } from '../parts.ts'
import type { Page } from '../reply.ts'
import { time } from '../time.ts'
import { line } from '../untrusted.ts'
import { patternsSection } from './patterns.ts'
import { rulePath } from './policy.ts'

export interface TestView {
  readonly form: URLSearchParams
  readonly result: Tested
}

export interface PoliciesView {
  /** In the order in which they are asked. */
  readonly policies: readonly PolicyView[]
  readonly defaults: { readonly plain: string; readonly upstream: string }
  readonly patterns: readonly PatternView[]
  readonly query: URLSearchParams
  readonly token: string
  readonly now: number
  readonly attempt?: Attempt
  readonly test?: TestView
}

export function policiesPage(view: PoliciesView): Page {
  const { policies, defaults, query, attempt } = view
  return {
    kind: 'page',
    title: 'Policies',
    place: 'policies',
    status: statusOf(attempt),
    body: html`${heading('Policies', html`<a class="button primary" href="/console/policies/new">New rule</a>`)}
${notice(query)}
${attempt && complaintOf(attempt)}
<p class="soft">Rules are asked from the top; the first that allows, blocks or requires approval decides. Where none does: tasks ${actionName(defaults.plain)}, calls of upstream tools ${actionName(defaults.upstream)}.</p>
${
  policies.length === 0
    ? empty('There are no rules.', 'Only the defaults apply.')
    : html`<ol class="rows rules">${policies.map((rule, i) => row(rule, i + 1, view))}</ol>`
}
${tester(view)}
${patternsSection(view)}`,
  }
}

function actionName(action: string): Html {
  return html`<span class="status action-${action}">${action.replaceAll('_', ' ')}</span>`
}

function row(rule: PolicyView, position: number, { token, now, test }: PoliciesView): Html {
  const { id, action, description, enabled, source, expires_at, priority } = rule
  const isFixed = source !== 'api'
  const isExpired = expires_at !== null && Date.parse(expires_at) <= now
  const hidden = html`<input type="hidden" name="id" value="${id}">`
  return html`<li class="row rule${!enabled || isExpired ? ' off' : ''}${test?.result.rule_id === id ? ' hit' : ''}">
<span class="rule-no">${position}</span>
<a class="row-main" href="${rulePath(id)}"><span class="row-title">${line(id, 128)}</span><span class="row-sub">${line(description ?? scopeWords(rule), 200)}</span></a>
<span class="row-why soft">${description !== null && line(scopeWords(rule), 160)}${rule.condition !== null && html` <span class="chip">condition</span>`}</span>
<span class="row-state">${actionName(action)}</span>
<span class="row-when soft">priority ${priority}${expires_at !== null && html`<span class="expires">${isExpired ? 'expired' : 'expires'} ${time(expires_at, now)}</span>`}${!enabled && html`<span class="expires">disabled</span>`}</span>
<span class="row-buttons">${
    isFixed
      ? html`<span class="chip" title="It can be changed only in the operator's file">fixed</span>`
      : html`${form(token, '/console/policies/enable', html`${hidden}<input type="hidden" name="enabled" value="${enabled ? 'false' : 'true'}"><button class="button small">${enabled ? 'Disable' : 'Enable'}<span class="quiet"> ${line(id, 60)}</span></button>`)}
<details class="sure"><summary class="button small danger">Remove<span class="quiet"> ${line(id, 60)}</span></summary>${form(token, '/console/policies/remove', html`${hidden}<button class="button small danger solid">Yes, remove it</button>`)}</details>`
  }</span>
</li>`
}

function scopeWords({ scope }: PolicyView): string {
  const set = Object.entries(scope).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  )
  return set.length === 0 ? 'everything' : set.join(', ')
}

function tester({ token, test, attempt }: PoliciesView): Html {
  const typed = test?.form ?? attempt?.form
  const value = (name: string) => typed?.get(name) ?? ''
  const field = (name: string, label: string, placeholder: string): Content =>
    html`<div><label for="t-${name}">${label}</label><input id="t-${name}" name="${name}" value="${value(name)}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></div>`
  return html`<section aria-labelledby="h-test"><h2 id="h-test">Try the rules</h2>
<p class="soft">Says what would become of a task or a call, and why. Nothing is done.</p>
${form(
  token,
  '/console/policies/test',
  html`<div class="fields">${field('type', 'Type', 'mcp.tool_call')}${field('upstream', 'Upstream', 'files')}${field('tool', 'Tool', 'delete_file')}${field('principal', 'Principal', 'agent:planner')}</div>
<label for="t-args">Arguments, or the payload, as JSON</label><textarea id="t-args" name="args" class="code" rows="4" spellcheck="false" placeholder="{}">${value('args')}</textarea>
<button class="button">Try</button>`,
)}
${test && verdict(test.result)}
</section>`
}

function verdict({
  action,
  rule_id,
  reason,
  considered,
  args,
  redacted_fields,
  redacts_result,
}: Tested): Html {
  return html`<div class="card verdict" role="status"><div class="card-head"><h3>${actionName(action)}</h3>${rule_id !== null && html`<span>by <code>${line(rule_id, 128)}</code></span>`}</div>
<p>${line(reason, 500)}</p>
${redacted_fields.length > 0 && html`<p>Taken out: ${redacted_fields.map((field) => html`<code>${line(field, 200)}</code> `)}</p>${jsonBlock(args, 'What would be kept')}`}
${redacts_result && html`<p>Something is taken out of its result too.</p>`}
${considered.length > 0 && html`<ol class="log">${considered.map(({ id, applied, why }) => html`<li class="${applied ? 'applied' : 'passed'}"><code>${line(id, 128)}</code><span>${applied ? 'applied: ' : 'passed over: '}${line(why, 300)}</span></li>`)}</ol>`}
</div>`
}
