import type { JsonObject } from '../core/json.ts'
import type { TaskView } from '../gate/shapes.ts'
import { questionOf } from './task-questions.ts'

/** A status is a line, not a document. */
const MAX_LENGTH = 500

/** How a task stands, in words for whoever asked for it. */
export function statusMessage(task: TaskView): string | undefined {
  const words = wordsOf(task)
  return words === undefined || words.length <= MAX_LENGTH ? words : `${words.slice(0, MAX_LENGTH - 1)}…`
}

function wordsOf(task: TaskView): string | undefined {
  switch (task.status) {
    case 'queued':
      return queuedWords(task)
    case 'leased':
      return 'A worker has taken it.'
    case 'running':
      return progressWords(task.progress) ?? 'Running.'
    case 'pending_approval':
      return approvalWords(task)
    case 'input_required':
      return questionOf(task)?.message
    case 'succeeded':
      return undefined
    case 'failed':
      return `Failed: ${errorWords(task)}`
    case 'canceled':
      return `Canceled: ${errorWords(task)}`
  }
}

function queuedWords({ attempt, expiry_count, max_attempts, next_eligible_at }: TaskView): string {
  const from = next_eligible_at === null ? '' : `, not before ${next_eligible_at}`
  if (attempt > 0) return `Waits for another try after ${attempt} of at most ${max_attempts}${from}.`
  if (expiry_count > 0) return `Waits for another worker: one gave no sign any more${from}.`
  return `Waits for a worker${from}.`
}

type Waiting = Pick<TaskView, 'task_id'> & Partial<Pick<TaskView, 'question'>>

/** How to answer, for an agent whose client is not asked in its own way. */
export function inputWords(task: Waiting): string {
  const message = questionOf(task)?.message ?? 'The task needs input.'
  return `Needs input: ${message} Answer with the tool answer_question and task_id ${task.task_id}.`
}

/** Who can approve, and how. */
export function approvalWords(task: Waiting): string {
  const request = task.question?.request
  const what = isObject(request) && typeof request.title === 'string' ? `: ${request.title}` : ''
  return (
    `Waits for approval${what}. A person or an admin, other than the one who asked, can approve it: ` +
    `"asyncgate approvals approve ${task.task_id}", or deny it in the same way.`
  )
}

/** Progress is whatever the worker says; these are the members that people and MCP use. */
export function progressWords(progress: JsonObject | undefined): string | undefined {
  if (progress === undefined) return undefined
  const { percent, message, progress: done, total } = progress
  const far =
    typeof percent === 'number'
      ? `${percent} %`
      : typeof done === 'number'
        ? `${done}${typeof total === 'number' ? ` of ${total}` : ''}`
        : undefined
  const said = typeof message === 'string' && message !== '' ? message : undefined
  return [far, said].filter((part) => part !== undefined).join(': ') || undefined
}

function errorWords({ result }: TaskView): string {
  const error = result?.error
  if (!isObject(error)) return 'no reason was given.'
  const { message, reason, code } = error
  const words = [message, reason, code].find((word) => typeof word === 'string' && word !== '')
  return typeof words === 'string' ? words : JSON.stringify(error)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
