import type { PatternView, PolicyView } from '../../features/policies/shape.ts'
import { type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import { faultBox, form, heading, jsonBlock, line, statusOf, time } from '../components.ts'
import { itemPath } from '../fields.ts'
import type { Page, Visit } from '../visit.ts'

const EXAMPLE = {
  id: 'approve-deletes',
  description: 'Deleting files requires approval',
  scope: { upstream: 'files', tool: 'delete*' },
  action: 'REQUIRE_APPROVAL',
  priority: 100,
}

/** The fields of a rule or pattern that an author writes. */
export function draftOf<View extends PolicyView | PatternView>(view: View) {
  const { source: _, version: __, updated_at: ___, updated_by: ____, ...draft } = view
  return draft
}

export function rulePath(id: string): string {
  return itemPath('policies/rules', id)
}

/** The editor of a rule; without one, of a new rule. */
export function policyPage(rule: PolicyView | undefined, { token, now, form: sent, fault }: Visit): Page {
  const isFixed = rule !== undefined && rule.source !== 'api'
  const text = sent.get('rule') ?? visibleJson(rule === undefined ? EXAMPLE : trimmed(rule))
  return {
    title: rule === undefined ? 'New rule' : rule.id,
    section: 'policies',
    status: statusOf(fault),
    body: html`<p class="crumbs"><a href="/console/policies">Policies</a></p>
${heading(rule === undefined ? 'New rule' : line(rule.id, 128), rule && html`<span class="status action-${rule.action}">${rule.action.replaceAll('_', ' ')}</span>`)}
${faultBox(fault)}
${rule?.updated_at && html`<p class="soft">Changed ${time(rule.updated_at, now)}${rule.updated_by !== null && html` by ${line(rule.updated_by, 80)}`}.</p>`}
${
  isFixed
    ? html`<p>This rule is defined in the operator's file and can only be changed there.</p>${jsonBlock(draftOf(rule), 'Rule')}`
    : html`<div class="columns"><section aria-label="Rule">${form(
        token,
        rule === undefined ? '/console/policies/new' : rulePath(rule.id),
        html`<label for="rule">Rule, as JSON</label><textarea id="rule" name="rule" class="code" rows="${Math.max(14, text.split('\n').length + 1)}" spellcheck="false" required>${text}</textarea>
<div class="buttons"><button class="button primary">Save</button><a class="button" href="/console/policies">Cancel</a></div>`,
      )}</section>${help()}</div>`
}`,
  }
}

/** The fields of a rule that are set. */
function trimmed(rule: PolicyView): object {
  return Object.fromEntries(Object.entries(draftOf(rule)).filter(([, value]) => value !== null))
}

function help(): Html {
  return html`<section aria-labelledby="h-help"><h2 id="h-help">Fields of a rule</h2>
<dl class="facts">
<div><dt>scope</dt><dd>upstream, tool, category, type, principal: all that are set must match; <code>*</code> matches any text</dd></div>
<div><dt>action</dt><dd>ALLOW, BLOCK, REDACT or REQUIRE_APPROVAL</dd></div>
<div><dt>condition</dt><dd>JSON Logic over tool, upstream, category, type, agent, principal, session and args, such as <code>{"&gt;": [{"var": "args.amount"}, 100]}</code></dd></div>
<div><dt>redact</dt><dd>targets (args, result, both), paths such as <code>$.items[*].card</code>, patterns by name</dd></div>
<div><dt>priority</dt><dd>higher is evaluated first; then the rule with more fields in its scope, then by id</dd></div>
<div><dt>expires_at</dt><dd>time after which the rule does not apply</dd></div>
</dl></section>`
}
