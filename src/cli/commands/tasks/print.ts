import type { Task } from '../../../client/operations.ts'
import { isObject } from '../../../util/guards.ts'
import { visibleLine } from '../../../util/untrusted-text.ts'
import { type Output, paintStatus } from '../../output.ts'

export function printTask(output: Output, task: Task): void {
  const { result, lease } = task
  const labels = Object.entries(task.labels).map(([key, value]) => `${key}=${value}`)
  output.details(
    [
      ['task', task.task_id],
      ['type', task.type],
      ['status', paintStatus(task.status)],
      ['summary', task.summary],
      ['created', `${task.created_at} by ${nameOf(task.created_by)}`],
      ['attempts', `${task.attempt} of ${task.max_attempts} failed; priority ${task.priority}`],
      ['labels', labels.join(' ')],
      ['lease', lease && `${lease.worker_id} until ${lease.expires_at}`],
      ['waits for', questionLine(task)],
      ['progress', progressLine(task)],
      ['payload', json(task.payload)],
      ['ended', result?.completed_at],
      ['took', durationOf(task)],
      ...cancellationLines(task),
      ['result', json(result?.result)],
      ['error', json(result?.error)],
      ['artifacts', json(result?.artifacts)],
      ['webhook', webhookLine(task)],
      ['console', task.console_url],
    ],
    12,
  )
}

/** The state of the completion webhook; empty if the task has none. */
function webhookLine({ webhook }: Task): string {
  if (webhook === undefined) return ''
  const { state, url, attempts, error } = webhook
  const tries = attempts === 0 ? '' : `, attempts: ${attempts}`
  return visibleLine(`${state}: ${url}${tries}${error === null ? '' : `, ${error}`}`, 300)
}

/** Prints how a task has ended. An inline artifact only refers to the result that is shown. */
export function printOutcome(output: Output, task: Task): void {
  const all = task.result?.artifacts
  const artifacts = Array.isArray(all) ? all.filter((each) => textField(each, 'type') !== 'inline') : []
  output.details(
    [
      ['status', paintStatus(task.status)],
      ['took', durationOf(task)],
      ...cancellationLines(task),
      ['result', json(task.result?.result)],
      ['error', json(task.result?.error)],
      ['artifacts', artifacts.length === 0 ? '' : json(artifacts)],
      ['task', task.task_id],
      ['console', task.console_url],
    ],
    12,
  )
}

/** The time from the creation of a task to its end; empty if it has not ended. */
function durationOf({ created_at, result }: Task): string {
  if (!result) return ''
  const ms = Math.max(0, Date.parse(result.completed_at) - Date.parse(created_at))
  if (ms < 1000) return `${ms} ms`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `kind:id` of a principal. */
export function nameOf({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return `${kind}:${id}`
}

/** A text field of an object that a worker wrote. */
export function textField(value: unknown, name: string): string | undefined {
  const field = isObject(value) ? value[name] : undefined
  return typeof field === 'string' ? field : undefined
}

/** Who asks and which page has to be opened, for a question of an upstream. */
export function upstreamLines({ origin, request }: NonNullable<Task['question']>): {
  readonly asks?: string
  readonly page?: string
} {
  if (origin !== 'upstream') return {}
  const url = textField(request, 'url')
  return {
    asks: `The upstream ${visibleLine(textField(request, 'upstream') ?? '', 100)} asks:`,
    ...(url !== undefined && { page: `Page to open, on ${new URL(url).host}: ${visibleLine(url, 2048)}` }),
  }
}

/** The open question of a task, and the command that answers it. */
function questionLine({ task_id, question }: Task): string {
  if (question === null) return ''
  const { kind, request, asked_at } = question
  const title = visibleLine(textField(request, 'title') ?? textField(request, 'message') ?? '', 500)
  const next = kind === 'approval' ? `approvals show ${task_id}` : `tasks answer ${task_id}`
  const { asks } = upstreamLines(question)
  const asked = asks === undefined ? title : `${asks} ${title}`
  return `${kind} since ${asked_at}: ${asked} ("asyncgate ${next}")`
}

/** The progress of a cancellation while a worker holds the task. */
function cancellationLines({ cancellation }: Task): [string, string][] {
  if (cancellation === undefined) return []
  const { requested_at, requested_by, reason, acknowledged_at, stopped_at } = cancellation
  return [
    ['canceled', `${requested_at} by ${nameOf(requested_by)}${reason === null ? '' : `: ${reason}`}`],
    ['acknowledged', acknowledged_at ?? 'not yet: the worker does not know of it'],
    ['stopped', stopped_at ?? 'not yet: the worker has not reported it'],
  ]
}

/** Percent and message, and any other fields that the worker reported. */
export function progressLine({ progress = {} }: Task): string {
  const { percent, message, updated_at: _, ...rest } = progress
  const parts = [
    typeof percent === 'number' ? `${percent} %` : '',
    typeof message === 'string' ? message : '',
    Object.keys(rest).length > 0 ? JSON.stringify(rest) : '',
  ]
  return parts.filter((part) => part !== '').join(' ')
}

function json(value: unknown): string {
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
