import { isParked, isTerminal, type Status } from '../../core/transitions.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../html.ts'
import { principal } from '../parts.ts'
import { time } from '../time.ts'
import { line } from '../untrusted.ts'

interface Step {
  readonly label: string
  readonly state: 'done' | 'now' | 'next'
  readonly detail?: Content
}

function steps(label: string, list: readonly Step[]): Html {
  return html`<ol class="steps" aria-label="${label}">${list.map(
    ({ label: name, state, detail }) =>
      html`<li class="step-${state}"${state === 'now' && html` aria-current="step"`}><span class="step-name">${name}</span>${detail && html`<span class="step-detail">${detail}</span>`}</li>`,
  )}</ol>`
}

const COURSE: readonly Status[] = ['queued', 'leased', 'running']

/** The course of a task with the place lit where it is. */
export function lifeSteps({ status, started_at }: Pick<TaskView, 'status' | 'started_at'>): Html {
  const course: Status[] = isParked(status) ? [status, ...COURSE] : [...COURSE]
  course.push(isTerminal(status) ? status : 'succeeded')
  const at = course.indexOf(status)
  /** An ended task may have left out some of them. */
  const isPassed = (name: Status) =>
    !isTerminal(status) ||
    name === 'queued' ||
    started_at !== null ||
    (name === 'leased' && status !== 'canceled')
  return steps(
    'Course of the task',
    course.map((name, i) => ({
      label: isTerminal(name) && name !== status ? 'ended' : name.replaceAll('_', ' '),
      state: i === at ? 'now' : i < at && isPassed(name) ? 'done' : 'next',
    })),
  )
}

/** How far a cancel has come with the worker. */
export function cancellationSteps(
  { requested_at, requested_by, reason, acknowledged_at, stopped_at }: NonNullable<TaskView['cancellation']>,
  now: number,
): Html {
  const told = (at: string | null, before: boolean) => (at !== null ? 'done' : before ? 'now' : 'next')
  return html`<section aria-label="Cancellation">${steps('Cancellation', [
    {
      label: 'requested',
      state: 'done',
      detail: html`${time(requested_at, now)} by ${principal(requested_by)}${reason !== null && html`: ${line(reason)}`}`,
    },
    {
      label: 'acknowledged',
      state: told(acknowledged_at, true),
      detail: acknowledged_at === null ? 'the worker has not heard of it yet' : time(acknowledged_at, now),
    },
    {
      label: 'stopped',
      state: told(stopped_at, acknowledged_at !== null),
      detail: stopped_at === null ? 'the worker has not said so yet' : time(stopped_at, now),
    },
  ])}</section>`
}
