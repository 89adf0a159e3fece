import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { line, principal, time } from '../components.ts'

interface Step {
  readonly label: string
  readonly state: 'done' | 'now' | 'next'
  readonly detail: Content
}

/** The progress of a cancellation: the task has ended, but its worker may still be at work. */
export function cancellationSteps(
  { requested_at, requested_by, reason, acknowledged_at, stopped_at }: NonNullable<TaskView['cancellation']>,
  now: number,
): Html {
  const stateOf = (at: string | null, before: boolean) => (at !== null ? 'done' : before ? 'now' : 'next')
  const steps: readonly Step[] = [
    {
      label: 'requested',
      state: 'done',
      detail: html`${time(requested_at, now)} by ${principal(requested_by)}${reason !== null && html`: ${line(reason)}`}`,
    },
    {
      label: 'acknowledged',
      state: stateOf(acknowledged_at, true),
      detail:
        acknowledged_at === null ? 'the worker has not acknowledged it yet' : time(acknowledged_at, now),
    },
    {
      label: 'stopped',
      state: stateOf(stopped_at, acknowledged_at !== null),
      detail: stopped_at === null ? 'the worker has not stopped yet' : time(stopped_at, now),
    },
  ]
  return html`<section aria-label="Cancellation"><ol class="steps" aria-label="Cancellation">${steps.map(
    ({ label, state, detail }) =>
      html`<li class="step-${state}"${state === 'now' && html` aria-current="step"`}><span class="step-name">${label}</span><span class="step-detail">${detail}</span></li>`,
  )}</ol></section>`
}
