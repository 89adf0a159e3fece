import type { PatternView, PolicyView } from '../../features/policies/shape.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import { type Attempt, complaintOf, statusOf } from '../attempt.ts'
import { place } from '../fields.ts'
import { type Html, html } from '../html.ts'
import { form, heading, jsonBlock } from '../parts.ts'
import type { Page } from '../reply.ts'
import { time } from '../time.ts'
import { line } from '../untrusted.ts'

export interface PolicyPageView {
  /** Undefined: a new one. */
  readonly rule?: PolicyView
  readonly token: string
  readonly now?: number
  readonly attempt?: Attempt
}

const EXAMPLE = {
  id: 'approve-deletes',
  description: 'Somebody looks before anything is deleted',
  scope: { upstream: 'files', tool: 'delete*' },
  action: 'REQUIRE_APPROVAL',
  priority: 100,
}

/** A rule or a pattern as it is written, without what the gate notes of it. */
export function draftOf<View extends PolicyView | PatternView>(view: View) {
  const { source: _, version: __, updated_at: ___, updated_by: ____, ...draft } = view
  return draft
}

/** Where rules are edited, whatever their id. */
export function rulePath(id: string): string {
  return place('policies/rules', id)
}

export function policyPage({ rule, token, now = 0, attempt }: PolicyPageView): Page {
  const isFixed = rule !== undefined && rule.source !== 'api'
  const text = attempt?.form.get('rule') ?? visibleJson(rule === undefined ? EXAMPLE : trimmed(rule))
  return {
    kind: 'page',
    title: rule === undefined ? 'New rule' : rule.id,
    place: 'policies',
    status: statusOf(attempt),
    body: html`<p class="crumbs"><a href="/console/policies">Policies</a></p>
${heading(rule === undefined ? 'New rule' : line(rule.id, 128), rule && html`<span class="status action-${rule.action}">${rule.action.replaceAll('_', ' ')}</span>`)}
${attempt && complaintOf(attempt)}
${rule?.updated_at && html`<p class="soft">Written ${time(rule.updated_at, now)}${rule.updated_by !== null && html` by ${line(rule.updated_by, 80)}`}.</p>`}
${
  isFixed
    ? html`<p>This rule is fixed by the operator's file. It can be changed only there.</p>${jsonBlock(draftOf(rule), 'Rule')}`
    : html`<div class="columns"><section aria-label="Rule">${form(
        token,
        rule === undefined ? '/console/policies/new' : rulePath(rule.id),
        html`<label for="rule">Rule, as JSON</label><textarea id="rule" name="rule" class="code" rows="${Math.max(14, text.split('\n').length + 1)}" spellcheck="false" required>${text}</textarea>
<div class="buttons"><button class="button primary">Save</button><a class="button" href="/console/policies">Leave it</a></div>`,
      )}</section>${help()}</div>`
}`,
  }
}

/** What is not set need not be read. */
function trimmed(rule: PolicyView): object {
  return Object.fromEntries(Object.entries(draftOf(rule)).filter(([, value]) => value !== null))
}

function help(): Html {
  return html`<section aria-labelledby="h-help"><h2 id="h-help">How to write one</h2>
<dl class="facts">
<div><dt>scope</dt><dd>upstream, tool, category, type, principal: all that are set must fit; <code>*</code> stands for any text</dd></div>
<div><dt>action</dt><dd>ALLOW, BLOCK, REDACT or REQUIRE_APPROVAL</dd></div>
<div><dt>condition</dt><dd>JSON Logic over tool, upstream, category, type, agent, principal, session and args, as <code>{"&gt;": [{"var": "args.amount"}, 100]}</code></dd></div>
<div><dt>redact</dt><dd>targets (args, result, both), paths such as <code>$.items[*].card</code>, patterns by name</dd></div>
<div><dt>priority</dt><dd>higher is asked first; then the rule with more in its scope, then by id</dd></div>
<div><dt>expires_at</dt><dd>a time after which it does not apply</dd></div>
</dl></section>`
}
