import { isPrincipalKind } from '../../core/principal.ts'
import { STATUSES, type Status } from '../../core/transitions.ts'
import { formatQuery, parseQuery, type Term } from '../../features/tasks/search/query.ts'
import type { TaskCounts } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { visibleLine } from '../../util/untrusted-text.ts'
import { count, line } from '../components.ts'
import { link, type Query, textIn } from '../fields.ts'

export const TASKS = '/console/tasks'

/** The tasks with this value, as a query: `taskQuery('session', 'report 42')` is `session:"report 42"`. */
export function taskQuery(by: 'type' | 'agent' | 'worker' | 'session', value: string): string {
  return formatQuery([{ by, any: [{ text: value, isPrefix: false }], isNegated: false }])
}

export function tasksWith(query: string | undefined, more: Query = {}): string {
  return link(TASKS, { q: query, ...more })
}

/** A query with one more term; the same one if it has the term already. */
export function withTerm(query: string, term: string): string {
  return ` ${query} `.includes(` ${term} `) ? query : `${query} ${term}`.trim()
}

/**
 * The query of a link that names fields instead, such as `?status=failed&type=mail`; undefined if it names none. A value
 * may be one that no task has, which the search then reports.
 */
export function queryOfFields(fields: URLSearchParams): string | undefined {
  const status = textIn(fields, 'status')
  const owner = textIn(fields, 'created_by')
  const type = textIn(fields, 'type')
  const session = textIn(fields, 'session_id')
  const terms = [
    status !== undefined && `status:${status}`,
    type !== undefined && taskQuery('type', type),
    owner !== undefined && taskQuery('agent', ownerOf(owner)),
    session !== undefined && taskQuery('session', session),
  ].filter((term) => term !== false)
  return terms.length === 0 ? undefined : terms.join(' ')
}

function ownerOf(owner: string): string {
  const [kind = ''] = owner.split(':', 1)
  return isPrincipalKind(kind) ? owner : `agent:${owner}`
}

/** The terms that do not select statuses, which the counts by status ignore. */
export function withoutStatus(query: string): string {
  return formatQuery(parseQuery(query).filter((term) => term.by !== 'status'))
}

/** The statuses that a query allows. */
export function statusesIn(query: string): readonly Status[] {
  const terms = parseQuery(query).filter((term) => term.by === 'status')
  return STATUSES.filter((status) => terms.every((term) => term.any.includes(status) !== term.isNegated))
}

const EXAMPLES: readonly (readonly [term: string, meaning: string])[] = [
  ['status:failed,canceled', 'in one of these statuses'],
  ['type:mail.*', 'whose type begins with mail.'],
  ['agent:planner', 'of this agent; kind:id for another owner'],
  ['worker:w1', 'that this worker holds or ended'],
  ['session:report-42', 'with this session_id'],
  ['label.team:search', 'with this label'],
  ['payload.customer_id:42', 'with this value in the payload'],
  ['age:>10m', 'created more than 10 minutes ago; s, m, h and d'],
  ['error:timeout', 'whose error contains this text'],
  ['parent:0197d7a4', 'whose parent begins like this'],
  ['invoice', 'whose summary contains this word'],
  ['-status:queued', 'that do not match the term'],
]

/** One field for the whole query, the terms of it, and what can be written. */
export function searchForm(query: string, fault: { readonly message: string } | undefined): Html {
  return html`<form class="search" method="get" action="${TASKS}" role="search" aria-label="Search tasks">
<label class="quiet" for="q">Search tasks</label>
<input id="q" name="q" value="${query}" maxlength="1000" placeholder="status:failed type:mail.* age:<1h" autocomplete="off" autocapitalize="none" spellcheck="false" list="q-options" data-complete${fault && html` aria-invalid="true" aria-describedby="q-fault"`}>
<datalist id="q-options">${[...STATUSES.map((status) => `status:${status}`), ...QUALIFIERS].map((term) => html`<option value="${term}"></option>`)}</datalist>
<button class="button">Search</button>
</form>
${fault && html`<p class="notice bad" id="q-fault" role="alert">${line(fault.message, 400)}</p>`}
<div class="terms">${fault === undefined && chips(query)}
<details class="help"><summary>What can I search for?</summary>
<table class="plain"><tbody>${EXAMPLES.map(([term, meaning]) => html`<tr><th scope="row"><a href="${tasksWith(withTerm(fault === undefined ? query : '', term))}"><code>${term}</code></a></th><td>tasks ${meaning}</td></tr>`)}</tbody></table>
<p class="soft">Terms are separated by spaces, and a task must match all of them. Values with spaces are written in quotation marks.</p></details></div>`
}

const QUALIFIERS = [
  'type:',
  'agent:',
  'worker:',
  'session:',
  'label.',
  'payload.',
  'age:>',
  'age:<',
  'error:',
  'id:',
  'parent:',
]

/** The terms of the query, each with a link that removes it. */
function chips(query: string): Content {
  const terms = parseQuery(query)
  if (terms.length === 0) return undefined
  const chip = (term: Term) => {
    const text = formatQuery([term])
    const rest = formatQuery(terms.filter((other) => other !== term))
    return html`<li class="chip term"><code>${line(text, 80)}</code><a href="${tasksWith(rest)}" aria-label="Remove ${visibleLine(text, 80)}">×</a></li>`
  }
  return html`<ul class="chips" aria-label="Terms of the search">${terms.map(chip)}<li><a href="${TASKS}">Clear</a></li></ul>`
}

/** The number of tasks in each status. A click shows only those, or all again. */
export function statusCounts(query: string, counts: TaskCounts): Html {
  const others = withoutStatus(query)
  const shown = statusesIn(query)
  const isNarrow = shown.length < STATUSES.length
  const entry = (status: Status) => {
    const isShown = isNarrow && shown.includes(status)
    const target = isShown && shown.length === 1 ? others : withTerm(others, `status:${status}`)
    return html`<li><a class="tally" href="${tasksWith(target)}"${isShown && html` aria-current="true"`}><span class="dot status-${status}"></span>${status.replaceAll('_', ' ')} <b>${count(counts[status])}${counts.more && '+'}</b></a></li>`
  }
  return html`<ul class="tallies" data-live="counts" aria-label="Tasks by status">${STATUSES.filter((status) => counts[status] > 0 || (isNarrow && shown.includes(status))).map(entry)}</ul>`
}
