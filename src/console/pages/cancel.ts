import { link } from '../fields.ts'
import { html } from '../html.ts'
import { type Fact, facts, form, heading } from '../parts.ts'
import type { Page } from '../reply.ts'
import type { TaskFilter } from '../task-filter.ts'
import { count, line } from '../untrusted.ts'

interface ConfirmCancelView {
  readonly filter: TaskFilter
  readonly matched: number
  /** There are more than were counted. */
  readonly more: boolean
  readonly token: string
}

function factsOf({ status, type, created_by, session_id }: TaskFilter): readonly Fact[] {
  const given: readonly (readonly [string, string | undefined])[] = [
    ['Status', status],
    ['Type', type],
    ['Owner', created_by],
    ['Session', session_id],
  ]
  return given.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: line(value) }]))
}

/** Says how many tasks it is about before anything is done. */
export function confirmCancelPage({ filter, matched, more, token }: ConfirmCancelView): Page {
  const set = factsOf(filter)
  const number = `${more ? 'more than ' : ''}${count(matched)} open ${matched === 1 && !more ? 'task' : 'tasks'}`
  const back = link('/console/tasks', { ...filter })
  return {
    kind: 'page',
    title: 'Cancel all',
    place: 'tasks',
    body: html`${heading(matched === 0 ? 'There is nothing to cancel' : `Cancel ${number}?`)}
<div class="card">
${set.length === 0 ? html`<p><strong>No filter is set:</strong> this is every open task.</p>` : facts(set)}
${
  matched === 0
    ? html`<p>No open task matches.</p><a class="button" href="${back}">Back</a>`
    : form(
        token,
        '/console/tasks/cancel-all',
        html`${Object.entries(filter).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
<p>Those that wait are canceled at once; workers that are at one are told to stop. Tasks that are created from now on are not touched. Closing the page stops it.</p>
<label for="reason">Reason</label><input id="reason" name="reason" maxlength="500" autocomplete="off">
<div class="buttons"><button class="button danger solid">Cancel ${number}</button><a class="button" href="${back}">Keep them</a></div>`,
      )
}
</div>`,
  }
}
