import { Fault, invalid } from '../../core/errors.ts'
import {
  getPolicy,
  listPolicies,
  listRedactionPatterns,
  putPolicy,
  putRedactionPattern,
  removePolicy,
  removeRedactionPattern,
} from '../../features/policies/policies.ts'
import type { PatternView, PolicyView } from '../../features/policies/shape.ts'
import { type Tested, testPolicy } from '../../features/policies/test-policy.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  empty,
  faultBox,
  form,
  heading,
  hidden,
  jsonBlock,
  line,
  notice,
  statusOf,
  time,
} from '../components.ts'
import { type Fields, jsonIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'
import { draftOf, policyPage, rulePath } from './policy.ts'

const LIST = '/console/policies'

export const policyRoutes = [
  page('/policies', showAll),
  action(
    '/policies/test',
    async (visit) => {
      const context = textFields(visit.form, ['type', 'upstream', 'tool', 'principal'])
      const args = jsonIn(visit.form, 'args')
      return showAll(visit, await visit.call(testPolicy, { context: { ...context, args } }))
    },
    showAll,
  ),
  action(
    '/policies/patterns',
    ({ call, form }) => {
      const pattern = textFields(form, ['name', 'pattern', 'replacement', 'description'])
      return saved(call(putRedactionPattern, pattern))
    },
    showAll,
  ),
  action('/policies/patterns/enable', async ({ call, form }) => {
    const { patterns } = await call(listRedactionPatterns, {})
    const pattern = patterns.find(({ name }) => name === form.get('name'))
    if (pattern === undefined) throw new Fault('NOT_FOUND', {}, 'The pattern no longer exists.')
    return saved(call(putRedactionPattern, { ...draftOf(pattern), enabled: form.get('enabled') === 'true' }))
  }),
  action(
    '/policies/patterns/remove',
    ({ call, form }) => saved(call(removeRedactionPattern, { name: textIn(form, 'name') }), 'removed'),
    showAll,
  ),
  page('/policies/new', showNew),
  action('/policies/new', async ({ call, form }) => saved(call(putPolicy, ruleIn(form))), showNew),
  // Below their own path, because a rule may have any of the names above.
  page('/policies/rules/{id}', showOne),
  action(
    '/policies/rules/{id}',
    async ({ call, params: { id }, form }) => {
      const rule = ruleIn(form)
      if (rule.id !== id) throw invalid('id', 'cannot be changed; create a new rule instead')
      return saved(call(putPolicy, rule))
    },
    showOne,
  ),
  action('/policies/enable', async ({ call, form }) => {
    const rule = await call(getPolicy, { id: form.get('id') ?? '' })
    return saved(call(putPolicy, { ...draftOf(rule), enabled: form.get('enabled') === 'true' }))
  }),
  action('/policies/remove', ({ call, form }) =>
    saved(call(removePolicy, { id: form.get('id') ?? '' }), 'removed'),
  ),
]

function textFields(form: URLSearchParams, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, textIn(form, name)]))
}

async function saved(change: Promise<object>, notice = 'saved'): Promise<Reply> {
  await change
  return redirect(LIST, { notice })
}

function ruleIn(form: URLSearchParams): Fields {
  const rule = jsonIn(form, 'rule')
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    throw invalid('rule', 'is not an object')
  return { ...rule }
}

async function showNew(visit: Visit): Promise<Reply> {
  return policyPage(undefined, visit)
}

async function showOne(visit: Visit): Promise<Reply> {
  return policyPage(await visit.call(getPolicy, { id: visit.params.id }), visit)
}

async function showAll(visit: Visit, test?: Tested): Promise<Reply> {
  const { call, query, fault } = visit
  const [{ policies, defaults }, { patterns }] = await Promise.all([
    call(listPolicies, {}),
    call(listRedactionPatterns, {}),
  ])
  return {
    title: 'Policies',
    section: 'policies',
    status: statusOf(fault),
    body: html`${heading('Policies', html`<a class="button primary" href="/console/policies/new">New rule</a>`)}
${notice(query)}
${faultBox(fault)}
<p class="soft">Rules are evaluated from the top; the first that allows, blocks or requires approval decides. The default for tasks is ${actionName(defaults.plain)}, for calls of upstream tools ${actionName(defaults.upstream)}.</p>
${
  policies.length === 0
    ? empty('There are no rules.', 'Only the defaults apply.')
    : html`<ol class="rows rules">${policies.map((rule, i) => row(rule, i + 1, visit, test))}</ol>`
}
${tester(visit, test)}
${patternsSection(patterns, visit)}`,
  }
}

function actionName(action: string): Html {
  return html`<span class="status action-${action}">${action.replaceAll('_', ' ')}</span>`
}

function row(rule: PolicyView, position: number, { token, now }: Visit, test?: Tested): Html {
  const { id, action, description, enabled, source, expires_at, priority } = rule
  const isFixed = source !== 'api'
  const isExpired = expires_at !== null && Date.parse(expires_at) <= now
  return html`<li class="row rule${!enabled || isExpired ? ' off' : ''}${test?.rule_id === id ? ' hit' : ''}">
<span class="rule-no">${position}</span>
<a class="row-main" href="${rulePath(id)}"><span class="row-title">${line(id, 128)}</span><span class="row-sub">${line(description ?? scopeWords(rule), 200)}</span></a>
<span class="row-why soft">${description !== null && line(scopeWords(rule), 160)}${rule.condition !== null && html` <span class="chip">condition</span>`}</span>
<span class="row-state">${actionName(action)}</span>
<span class="row-when soft">priority ${priority}${expires_at !== null && html`<span class="expires">${isExpired ? 'expired' : 'expires'} ${time(expires_at, now)}</span>`}${!enabled && html`<span class="expires">disabled</span>`}</span>
<span class="row-buttons">${
    isFixed
      ? html`<span class="chip" title="Defined in the operator's file, and can only be changed there">fixed</span>`
      : html`${form(token, '/console/policies/enable', html`${hidden({ id, enabled: enabled ? 'false' : 'true' })}<button class="button small">${enabled ? 'Disable' : 'Enable'}<span class="quiet"> ${line(id, 60)}</span></button>`)}
<details class="sure"><summary class="button small danger">Remove<span class="quiet"> ${line(id, 60)}</span></summary>${form(token, '/console/policies/remove', html`${hidden({ id })}<button class="button small danger solid">Yes, remove it</button>`)}</details>`
  }</span>
</li>`
}

function scopeWords({ scope }: PolicyView): string {
  const set = Object.entries(scope).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  )
  return set.length === 0 ? 'everything' : set.join(', ')
}

function tester({ token, form: sent }: Visit, test?: Tested): Html {
  const value = (name: string) => sent.get(name) ?? ''
  const field = (name: string, label: string, placeholder: string): Content =>
    html`<div><label for="t-${name}">${label}</label><input id="t-${name}" name="${name}" value="${value(name)}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></div>`
  return html`<section aria-labelledby="h-test"><h2 id="h-test">Test the rules</h2>
<p class="soft">Shows what the rules decide about a task or a call, and why. Nothing is executed.</p>
${form(
  token,
  '/console/policies/test',
  html`<div class="fields">${field('type', 'Type', 'mcp.tool_call')}${field('upstream', 'Upstream', 'files')}${field('tool', 'Tool', 'delete_file')}${field('principal', 'Principal', 'agent:planner')}</div>
<label for="t-args">Arguments, or the payload, as JSON</label><textarea id="t-args" name="args" class="code" rows="4" spellcheck="false" placeholder="{}">${value('args')}</textarea>
<button class="button">Test</button>`,
)}
${test && verdict(test)}
</section>`
}

function verdict(tested: Tested): Html {
  const { action, rule_id, reason, considered, args, redacted_fields, redacts_result } = tested
  return html`<div class="card verdict" role="status"><div class="card-head"><h3>${actionName(action)}</h3>${rule_id !== null && html`<span>by <code>${line(rule_id, 128)}</code></span>`}</div>
<p>${line(reason, 500)}</p>
${redacted_fields.length > 0 && html`<p>Redacted: ${redacted_fields.map((field) => html`<code>${line(field, 200)}</code> `)}</p>${jsonBlock(args, 'Redacted arguments')}`}
${redacts_result && html`<p>The result is redacted too.</p>`}
${considered.length > 0 && html`<ol class="log">${considered.map(({ id, applied, why }) => html`<li class="${applied ? 'applied' : 'passed'}"><code>${line(id, 128)}</code><span>${applied ? 'applied: ' : 'skipped: '}${line(why, 300)}</span></li>`)}</ol>`}
</div>`
}

function patternsSection(patterns: readonly PatternView[], { token, form: sent }: Visit): Html {
  const typed = (name: string) => (sent.has('pattern') ? (sent.get(name) ?? '') : '')
  return html`<section aria-labelledby="h-patterns"><h2 id="h-patterns">Redaction patterns</h2>
<p class="soft">Regular expressions in RE2 syntax, which rules with the action REDACT refer to by name.</p>
<ul class="rows patterns">${patterns.map((pattern) => patternRow(pattern, token))}</ul>
<details${typed('name') + typed('pattern') !== '' && html` open`}><summary>New pattern</summary>
${form(
  token,
  '/console/policies/patterns',
  html`<label for="p-name">Name</label><input id="p-name" name="name" required value="${typed('name')}" autocomplete="off" spellcheck="false">
<label for="p-pattern">Pattern</label><input id="p-pattern" name="pattern" class="code" required value="${typed('pattern')}" autocomplete="off" spellcheck="false">
<label for="p-replacement">Replacement</label><input id="p-replacement" name="replacement" placeholder="[REDACTED]" value="${typed('replacement')}" autocomplete="off">
<label for="p-description">Description</label><input id="p-description" name="description" value="${typed('description')}" autocomplete="off">
<button class="button">Save pattern</button>`,
)}</details></section>`
}

function patternRow({ name, pattern, enabled, description, source }: PatternView, token: string): Html {
  return html`<li class="row${enabled ? '' : ' off'}">
<span class="row-main"><span class="row-title">${line(name, 64)}</span><code class="row-sub">${line(pattern, 300)}</code></span>
<span class="row-why soft">${line(description ?? '', 200)}</span>
<span class="row-buttons">${
    source !== 'api'
      ? html`<span class="chip">${source === 'file' ? 'fixed' : 'built in'}</span>`
      : html`${form(token, '/console/policies/patterns/enable', html`${hidden({ name, enabled: enabled ? 'false' : 'true' })}<button class="button small">${enabled ? 'Disable' : 'Enable'}<span class="quiet"> ${line(name, 64)}</span></button>`)}${form(token, '/console/policies/patterns/remove', html`${hidden({ name })}<button class="button small danger">Remove<span class="quiet"> ${line(name, 64)}</span></button>`)}`
  }</span>
</li>`
}
