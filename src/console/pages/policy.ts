import type { z } from 'zod'
import type { PolicyChange, previewPolicy } from '../../features/policies/preview-policy.ts'
import type { PatternView, PolicyView } from '../../features/policies/shape.ts'
import type { RuleDraft } from '../../policy/rule.ts'
import { type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import {
  count,
  empty,
  faultBox,
  form,
  heading,
  jsonBlock,
  line,
  principal,
  statusOf,
  table,
  tableRow,
  time,
} from '../components.ts'
import { type Fields, itemPath } from '../fields.ts'
import type { Page, Visit } from '../visit.ts'
import { fieldsOf, ruleControls } from './policy-form.ts'

const EXAMPLE: Partial<RuleDraft> = {
  id: 'approve-deletes',
  description: 'Deleting files requires approval',
  scope: { upstream: 'files', tool: 'delete*' },
  action: 'REQUIRE_APPROVAL',
  priority: 100,
}

type Preview = z.output<typeof previewPolicy.output>

/** What the editor shows besides the stored rule. */
export interface Edited {
  readonly patterns: readonly PatternView[]
  /** The rule that was sent, if it could be read. */
  readonly rule?: Fields | undefined
  readonly preview?: Preview | undefined
}

/** The fields of a rule or pattern that an author writes. */
export function draftOf<View extends PolicyView | PatternView>(view: View) {
  const { source: _, version: __, updated_at: ___, updated_by: ____, ...draft } = view
  return draft
}

export function rulePath(id: string): string {
  return itemPath('policies/rules', id)
}

export function actionName(action: string): Html {
  return html`<span class="status action-${action}">${action.replaceAll('_', ' ').toLowerCase()}</span>`
}

/** The editor of a rule; without one, of a new rule. */
export function policyPage(rule: PolicyView | undefined, edited: Edited, visit: Visit): Page {
  const { now, fault, may } = visit
  const isFixed = rule !== undefined && rule.source !== 'api'
  return {
    title: rule === undefined ? 'New rule' : rule.id,
    section: 'policies',
    status: statusOf(fault),
    body: html`<p class="crumbs"><a href="/console/policies">Policies</a></p>
${heading(rule === undefined ? 'New rule' : line(rule.id, 128), rule && actionName(rule.action))}
${faultBox(fault)}
${rule?.updated_at && html`<p class="soft">Changed ${time(rule.updated_at, now)}${rule.updated_by !== null && html` by ${line(rule.updated_by, 80)}`}.</p>`}
${edited.preview && previewOf(edited.preview, now)}
${
  isFixed || !may('manage')
    ? html`${isFixed && html`<p>This rule is defined in the operator's file and can only be changed there.</p>`}${rule && jsonBlock(trimmed(rule), 'Rule')}`
    : editor(rule, edited, visit)
}`,
  }
}

/** The same rule as a form and as JSON. Each is saved or tried out alone; trying it out updates the other one. */
function editor(rule: PolicyView | undefined, edited: Edited, { token, form: sent, fault }: Visit): Html {
  const path = rule === undefined ? '/console/policies/new' : rulePath(rule.id)
  const stored: Partial<RuleDraft> = rule ?? EXAMPLE
  const isJson = sent.has('rule')
  const fields = sent.has('action') ? sent : fieldsOf(edited.rule === undefined ? stored : { ...edited.rule })
  const text = sent.get('rule') ?? visibleJson(edited.rule ?? (rule === undefined ? EXAMPLE : trimmed(rule)))
  const buttons = html`<div class="buttons"><button class="button primary" name="do" value="save">Save</button><button class="button" name="do" value="preview">Try on recent tasks</button><a class="button" href="/console/policies">Cancel</a></div>`
  return html`<div class="columns"><section aria-labelledby="h-fields"><h2 id="h-fields">Form</h2>${form(
    token,
    path,
    html`${ruleControls({ sent: fields, patterns: edited.patterns, fault: isJson ? undefined : fault, isStored: rule !== undefined })}${buttons}`,
    'stack',
  )}</section>
<section aria-labelledby="h-json"><h2 id="h-json">JSON</h2>${form(
    token,
    path,
    html`<label class="quiet" for="rule">Rule, as JSON</label><textarea id="rule" name="rule" class="code" rows="${Math.max(14, text.split('\n').length + 1)}" spellcheck="false" required>${text}</textarea>${buttons}`,
    'stack',
  )}</section></div>`
}

/** The fields of a rule that are set. */
function trimmed(rule: PolicyView): object {
  return Object.fromEntries(Object.entries(draftOf(rule)).filter(([, value]) => value !== null))
}

const COLUMNS = [
  { label: 'Task', kind: 'wide' },
  { label: 'Owner', isExtra: true },
  { label: 'Decided now', kind: 'tight' },
  { label: 'With this rule', kind: 'tight' },
  { label: 'Created', kind: 'tight', isExtra: true },
] as const

function previewOf({ examined, changed }: Preview, now: number): Html {
  const row = (change: PolicyChange) =>
    tableRow(change.task_id, COLUMNS, [
      html`<a href="${itemPath('tasks', change.task_id)}">${line(change.tool === null ? change.type : `${change.upstream} › ${change.tool}`, 100)}</a>`,
      principal(change.created_by),
      actionName(change.before.action),
      actionName(change.after.action),
      time(change.created_at, now),
    ])
  return html`<section aria-labelledby="h-preview"><h2 id="h-preview">On recent tasks</h2>
<p role="status">Of the newest ${count(examined)} tasks, ${changed.length === 0 ? 'none' : html`<strong>${count(changed.length)}</strong>`} would have been decided otherwise. Nothing was saved.</p>
${changed.length === 0 ? (examined === 0 ? empty('There are no tasks to try it on.', 'Tasks and tool calls appear here as soon as there are some.') : '') : table('Tasks that would have been decided otherwise', COLUMNS, changed.map(row))}
</section>`
}
