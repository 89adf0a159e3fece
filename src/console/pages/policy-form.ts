import type { Fault } from '../../core/errors.ts'
import type { PatternView } from '../../features/policies/shape.ts'
import { REDACTION_TARGETS, type RuleDraft, type Scope } from '../../policy/rule.ts'
import { ACTIONS } from '../../policy/ruling.ts'
import { type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import { line } from '../components.ts'
import { type Fields, instantIn, integerIn, jsonIn, textIn } from '../fields.ts'

const SCOPE: Readonly<Record<keyof Scope, readonly [label: string, placeholder: string]>> = {
  upstream: ['Upstream', 'files'],
  tool: ['Tool', 'delete_*'],
  category: ['Category', 'write'],
  type: ['Task type', 'payment.*'],
  principal: ['Principal', 'agent:planner'],
}

/** The rule of a form that was sent, as put_policy takes it. Fields that are empty are absent. */
export function ruleInFields(sent: URLSearchParams): Fields {
  const scope = Object.keys(SCOPE).flatMap((name) => {
    const value = textIn(sent, name)
    return value === undefined ? [] : [[name, value]]
  })
  const rule = {
    id: textIn(sent, 'id'),
    description: textIn(sent, 'description'),
    action: textIn(sent, 'action'),
    scope: Object.fromEntries(scope),
    condition: jsonIn(sent, 'condition'),
    priority: integerIn(sent, 'priority'),
    enabled: sent.get('enabled') === 'false' ? false : undefined,
    redact: redactIn(sent),
    approve_by: textIn(sent, 'approve_by'),
    approval_expires_in_seconds: integerIn(sent, 'approval_expires_in_seconds'),
    approves: textIn(sent, 'approves'),
    expires_at: instantIn(sent, 'expires_at'),
  }
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined))
}

function redactIn(sent: URLSearchParams): Fields | undefined {
  const paths = (sent.get('paths') ?? '').split('\n').map((path) => path.trim())
  const redact = { paths: paths.filter(Boolean), patterns: sent.getAll('pattern') }
  const isUsed = textIn(sent, 'action') === 'REDACT' || redact.paths.length + redact.patterns.length > 0
  return isUsed ? { targets: textIn(sent, 'targets'), ...redact } : undefined
}

/** The fields of a rule, as its form sends them. */
export function fieldsOf(rule: Partial<RuleDraft>): URLSearchParams {
  const { scope = {}, condition, redact, enabled, expires_at, ...rest } = rule
  const texts = [...Object.entries(rest), ...Object.entries(scope)].flatMap(
    ([name, value]): [string, string][] =>
      value === undefined || value === null ? [] : [[name, String(value)]],
  )
  const sent = new URLSearchParams(texts)
  if (condition !== undefined && condition !== null) sent.set('condition', visibleJson(condition))
  if (enabled === false) sent.set('enabled', 'false')
  if (expires_at !== undefined && expires_at !== null) sent.set('expires_at', expires_at.slice(0, 16))
  if (redact !== undefined && redact !== null) {
    sent.set('targets', redact.targets)
    sent.set('paths', redact.paths.join('\n'))
    for (const name of redact.patterns) sent.append('pattern', name)
  }
  return sent
}

interface Editor {
  readonly sent: URLSearchParams
  readonly patterns: readonly PatternView[]
  readonly fault: Fault | undefined
  /** Whether the rule exists: its id does not change. */
  readonly isStored: boolean
}

/** The controls of a rule. Parts that only some actions have are grouped. */
export function ruleControls({ sent, patterns, fault, isStored }: Editor): Html {
  const { input, select, area } = controlsFor(sent, fault)
  const chosen = sent.getAll('pattern')
  const numeric = html` inputmode="numeric"`
  return html`<div class="fields">${input('id', 'Id', { placeholder: 'approve-deletes', more: isStored ? html` readonly` : html` required` })}
${select('action', 'Action', labelled(ACTIONS))}
${input('priority', 'Priority', { placeholder: '0', more: numeric })}
${select('enabled', 'State', [
  ['', 'enabled'],
  ['false', 'disabled'],
])}</div>
${input('description', 'Description', { placeholder: 'Callers who are blocked read it' })}
<fieldset class="group"><legend>Applies to</legend><p class="hint">Everything that is set must match; * matches any text.</p><div class="fields">${Object.entries(
    SCOPE,
  ).map(([name, [label, placeholder]]) =>
    input(name, label, { path: `scope.${name}`, placeholder }),
  )}</div></fieldset>
${area('condition', 'Only if this JSON Logic is true', '{">": [{"var": "args.amount"}, 100]}')}
<fieldset class="group"><legend>For require approval</legend><div class="fields">${select(
    'approve_by',
    'Approved by',
    [
      ['', 'a person'],
      ['client', 'a person, or the user of the client'],
    ],
  )}${input('approval_expires_in_seconds', 'Expires after seconds', { placeholder: 'as configured', more: numeric })}</div></fieldset>
<fieldset class="group"><legend>For redact</legend><div class="fields">${select('targets', 'Redacts', labelled(REDACTION_TARGETS), 'redact.targets')}</div>
${area('paths', 'Paths, one per line', '$.items[*].card', 'redact.paths')}
${
  patterns.length > 0 &&
  html`<div class="choices">${patterns.map(
    ({ name }) =>
      html`<label class="choice"><input type="checkbox" name="pattern" value="${name}"${chosen.includes(name) && html` checked`}> ${line(name, 64)}</label>`,
  )}</div>`
}</fieldset>
<fieldset class="group"><legend>For allow</legend>${input('approves', 'Replaces the approval that this rule requires', { placeholder: 'id of a rule, default or *' })}</fieldset>
${input('expires_at', 'Applies only before (UTC)', { more: html` type="datetime-local"` })}`
}

type Option = readonly [value: string, label: string]

function labelled(values: readonly string[]): Option[] {
  return values.map((value) => [value, value.replaceAll('_', ' ').toLowerCase()])
}

/** Controls that contain what was sent, with the fault at the field that it names. */
function controlsFor(sent: URLSearchParams, fault: Fault | undefined) {
  const value = (name: string) => sent.get(name) ?? ''
  const { path, problem } = fault?.details ?? {}
  const wrong = typeof path === 'string' ? path.replace(/^rule\./, '') : undefined
  const isWrong = (at: string) => wrong !== undefined && (wrong === at || wrong.startsWith(`${at}.`))
  const field = (name: string, label: string, at: string, control: (attributes: Html) => Html): Html => {
    const attributes = html`id="r-${name}" name="${name}"${isWrong(at) && html` aria-invalid="true" aria-describedby="r-${name}-problem"`}`
    return html`<div class="field"><label for="r-${name}">${label}</label>${control(attributes)}${isWrong(at) && html`<p class="field-problem" id="r-${name}-problem">${line(String(problem), 300)}</p>`}</div>`
  }
  interface About {
    readonly path?: string
    readonly placeholder?: string
    readonly more?: Html
  }
  return {
    input: (name: string, label: string, { path: at = name, placeholder = '', more }: About = {}) =>
      field(
        name,
        label,
        at,
        (attributes) =>
          html`<input ${attributes} value="${value(name)}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"${more}>`,
      ),
    select: (name: string, label: string, options: readonly Option[], at = name) =>
      field(
        name,
        label,
        at,
        (attributes) =>
          html`<select ${attributes}>${options.map(
            ([option, words]) =>
              html`<option value="${option}"${value(name) === option && html` selected`}>${words}</option>`,
          )}</select>`,
      ),
    area: (name: string, label: string, placeholder: string, at = name) =>
      field(
        name,
        label,
        at,
        (attributes) =>
          html`<textarea ${attributes} class="code grow" rows="2" spellcheck="false" placeholder="${placeholder}">${value(name)}</textarea>`,
      ),
  }
}
