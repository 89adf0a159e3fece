import type { Links } from '../../features/links.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { errorWords, progressWords } from '../../features/tasks/summary.ts'
import { isObject } from '../../util/guards.ts'
import { questionOf } from './questions.ts'

const MAX_LENGTH = 500
/** Leaves room for the instructions how to approve. */
const MAX_TITLE = 150

/** The status of a task as a sentence for the caller. */
export function statusMessage(task: TaskView, links: Links): string | undefined {
  const words = wordsOf(task, links)
  return words === undefined ? undefined : cut(words, MAX_LENGTH)
}

function wordsOf(task: TaskView, links: Links): string | undefined {
  switch (task.status) {
    case 'queued':
      return withHint(queuedWords(task), task.hint)
    case 'leased':
      return 'A worker has taken it.'
    case 'running':
      return progressWords(task.progress) ?? 'Running.'
    case 'pending_approval':
      return approvalWords(task, links)
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

function queuedWords(task: TaskView): string {
  const { attempt, expiry_count, max_attempts, next_eligible_at } = task
  const from = next_eligible_at === null ? '' : `, not before ${next_eligible_at}`
  if (attempt > 0) return `Waits for another try after ${attempt} of at most ${max_attempts}${from}.`
  if (expiry_count > 0) return `Waits for another worker: one gave no sign any more${from}.`
  return `Waits for a worker${from}.`
}

/** The status of a task that was created a moment ago. */
export function freshWords({ task_id, status, hint }: Fresh, links: Links): string {
  if (status === 'pending_approval') return approvalWords({ task_id }, links)
  return cut(withHint('Waits for a worker.', hint), MAX_LENGTH)
}

export type Fresh = Pick<TaskView, 'task_id' | 'status'> & { readonly hint?: string | undefined }

/** The hint of a queued task says that no live worker serves its type. */
function withHint(words: string, hint: string | undefined): string {
  return hint === undefined ? words : `${words} ${hint}`
}

type Waiting = Pick<TaskView, 'task_id'> & Partial<Pick<TaskView, 'question'>>

/** Tells an agent how to answer when its client cannot show a form. */
export function inputWords(task: Waiting): string {
  const message = questionOf(task)?.message ?? 'The task needs input.'
  return `Needs input: ${message} Answer with the tool answer_question and task_id ${task.task_id}.`
}

/** Tells who can approve, and how. */
export function approvalWords(task: Waiting, links: Links): string {
  const request = task.question?.request
  const what =
    isObject(request) && typeof request.title === 'string' ? `: ${cut(request.title, MAX_TITLE)}` : ''
  return `Waits for approval${what}. ${links.approval(task.task_id)}`
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
