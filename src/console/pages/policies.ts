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
import { previewPolicy } from '../../features/policies/preview-policy.ts'
import type { PatternView, PolicyView } from '../../features/policies/shape.ts'
import { type Tested, testPolicy } from '../../features/policies/test-policy.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  command,
  empty,
  faultBox,
  form,
  heading,
  hidden,
  jsonBlock,
  line,
  notice,
  statusOf,
  table,
  tableRow,
  time,
} from '../components.ts'
import { type Fields, jsonIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'
import { actionName, draftOf, type Edited, policyPage, rulePath } from './policy.ts'
import { ruleInFields } from './policy-form.ts'

const LIST = '/console/policies'

/** The newest tasks that a rule is tried on. */
const MAX_PREVIEWED = 500

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
  page('/policies/new', showEditor),
  action('/policies/new', (visit) => saveOrPreview(visit, ruleIn(visit.form)), showEditor),
  // Below their own path, because a rule may have any of the names above.
  page('/policies/rules/{id}', showEditor),
  action(
    '/policies/rules/{id}',
    async (visit) => {
      const rule = ruleIn(visit.form)
      if (rule.id !== visit.params.id) throw invalid('id', 'cannot be changed; create a new rule instead')
      return saveOrPreview(visit, rule)
    },
    showEditor,
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

/** The rule of the form, or of the JSON beside it. */
function ruleIn(form: URLSearchParams): Fields {
  if (!form.has('rule')) return ruleInFields(form)
  const rule = jsonIn(form, 'rule')
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    throw invalid('rule', 'is not an object')
  return { ...rule }
}

async function saveOrPreview(visit: Visit, rule: Fields): Promise<Reply> {
  if (visit.form.get('do') !== 'preview') return saved(visit.call(putPolicy, rule))
  const preview = await visit.call(previewPolicy, { rule, limit: MAX_PREVIEWED })
  // Both sides of the editor show the rule that was tried out.
  return showEditor({ ...visit, form: new URLSearchParams() }, { rule, preview })
}

async function showEditor(visit: Visit, edited: Pick<Edited, 'rule' | 'preview'> = {}): Promise<Reply> {
  const { call, params } = visit
  const [rule, { patterns }] = await Promise.all([
    params.id === undefined ? undefined : call(getPolicy, { id: params.id }),
    call(listRedactionPatterns, {}),
  ])
  return policyPage(rule, { ...edited, patterns }, visit)
}

async function showAll(visit: Visit, test?: Tested): Promise<Reply> {
  const { call, query, fault, may } = visit
  const [{ policies, defaults }, { patterns }] = await Promise.all([
    call(listPolicies, {}),
    call(listRedactionPatterns, {}),
  ])
  return {
    title: 'Policies',
    section: 'policies',
    status: statusOf(fault),
    body: html`${heading('Policies', may('manage') && html`<a class="button primary" href="/console/policies/new">New rule</a>`)}
${notice(query)}
${faultBox(fault)}
<p class="soft">Rules are evaluated from the top; the first that allows, blocks or requires approval decides. The default for tasks is ${actionName(defaults.plain)}, for calls of upstream tools ${actionName(defaults.upstream)}.</p>
${
  policies.length === 0
    ? empty(
        'There are no rules.',
        html`Only the defaults apply. Add a rule here, or on the command line:${command("npx asyncgate policies set approve-deletes require-approval --tool 'delete*'")}`,
      )
    : table(
        'Rules',
        COLUMNS,
        policies.map((rule, i) => row(rule, i + 1, visit, test)),
      )
}
${tester(visit, test)}
${patternsSection(patterns, visit)}`,
  }
}

const COLUMNS = [
  { label: 'Rule', kind: 'wide' },
  { label: 'Action', kind: 'tight' },
  { label: 'Applies to' },
  { label: 'Priority', kind: 'number', isExtra: true },
  { label: 'State', kind: 'tight', isExtra: true },
  { label: 'Change', kind: 'tight' },
] as const

function row(rule: PolicyView, position: number, visit: Visit, test?: Tested): Html {
  const { now } = visit
  const { id, action, description, enabled, expires_at, priority, condition } = rule
  const isExpired = expires_at !== null && Date.parse(expires_at) <= now
  const isOff = !enabled || isExpired
  return tableRow(
    id,
    COLUMNS,
    [
      html`<span class="rule-no">${position}</span> <a href="${rulePath(id)}">${line(id, 128)}</a>${description !== null && html`<span class="row-sub">${line(description, 200)}</span>`}`,
      actionName(action),
      html`${line(scopeWords(rule), 200)}${condition !== null && html` <span class="chip">condition</span>`}`,
      priority,
      html`${!enabled ? 'disabled' : isExpired ? 'expired' : 'enabled'}${expires_at !== null && html`<span class="expires">${isExpired ? 'expired' : 'expires'} ${time(expires_at, now)}</span>`}`,
      changes(rule, visit),
    ],
    `${isOff ? ' off' : ''}${test?.rule_id === id ? ' hit' : ''}`,
  )
}

function changes({ id, enabled, source }: PolicyView, { token, may }: Visit): Content {
  if (source !== 'api') {
    return html`<span class="chip" title="Defined in the operator's file, and can only be changed there">fixed</span>`
  }
  if (!may('manage')) return false
  return html`<span class="row-buttons">${form(token, '/console/policies/enable', html`${hidden({ id, enabled: enabled ? 'false' : 'true' })}<button class="button small">${enabled ? 'Disable' : 'Enable'}<span class="quiet"> ${line(id, 60)}</span></button>`)}
<details class="sure"><summary class="button small danger">Remove<span class="quiet"> ${line(id, 60)}</span></summary>${form(token, '/console/policies/remove', html`${hidden({ id })}<button class="button small danger solid">Yes, remove it</button>`)}</details></span>`
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

const PATTERN_COLUMNS = [
  { label: 'Pattern' },
  { label: 'Matches', kind: 'wide' },
  { label: 'Description', isExtra: true },
  { label: 'State', kind: 'tight' },
  { label: 'Change', kind: 'tight' },
] as const

function patternsSection(patterns: readonly PatternView[], visit: Visit): Html {
  const { token, form: sent, may } = visit
  const typed = (name: string) => (sent.has('pattern') ? (sent.get(name) ?? '') : '')
  return html`<section aria-labelledby="h-patterns"><h2 id="h-patterns">Redaction patterns</h2>
<p class="soft">Regular expressions in RE2 syntax, which rules with the action REDACT refer to by name.</p>
${table(
  'Redaction patterns',
  PATTERN_COLUMNS,
  patterns.map((pattern) => patternRow(pattern, visit)),
)}
${
  may('manage') &&
  html`<details class="card"${typed('name') + typed('pattern') !== '' && html` open`}><summary>New pattern</summary>
${form(
  token,
  '/console/policies/patterns',
  html`<label for="p-name">Name</label><input id="p-name" name="name" required value="${typed('name')}" autocomplete="off" spellcheck="false">
<label for="p-pattern">Pattern</label><input id="p-pattern" name="pattern" class="code" required value="${typed('pattern')}" autocomplete="off" spellcheck="false">
<label for="p-replacement">Replacement</label><input id="p-replacement" name="replacement" placeholder="[REDACTED]" value="${typed('replacement')}" autocomplete="off">
<label for="p-description">Description</label><input id="p-description" name="description" value="${typed('description')}" autocomplete="off">
<button class="button">Save pattern</button>`,
)}</details>`
}</section>`
}

function patternRow(
  { name, pattern, enabled, description, source }: PatternView,
  { token, may }: Visit,
): Html {
  const fixed = html`<span class="chip">${source === 'file' ? 'fixed' : 'built in'}</span>`
  const buttons = html`<span class="row-buttons">${form(token, '/console/policies/patterns/enable', html`${hidden({ name, enabled: enabled ? 'false' : 'true' })}<button class="button small">${enabled ? 'Disable' : 'Enable'}<span class="quiet"> ${line(name, 64)}</span></button>`)}${form(token, '/console/policies/patterns/remove', html`${hidden({ name })}<button class="button small danger">Remove<span class="quiet"> ${line(name, 64)}</span></button>`)}</span>`
  return tableRow(name, PATTERN_COLUMNS, [
    line(name, 64),
    html`<code>${line(pattern, 300)}</code>`,
    line(description ?? '', 200),
    enabled ? 'enabled' : 'disabled',
    source === 'api' ? may('manage') && buttons : fixed,
  ])
}
