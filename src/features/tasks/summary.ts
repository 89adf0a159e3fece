import { z } from 'zod'
import type { Json, JsonObject } from '../../core/json/json.ts'
import { canonicalText } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import { json, nextCursor } from '../input.ts'
import { age, compact, line, summaryView } from '../summary.ts'
import { statusShape, type TaskView, taskShape } from './shape.ts'

const MAX_SUMMARY = 100
const MAX_ERROR = 160

/** Longer values are cut: a model reads the rest with fetch_task_result, or asks for the full view. */
const MAX_RESULT = 4_000
const MAX_PAYLOAD = 1_000
const PREVIEW = 500

export const ageShape = z.string().describe('Time since the creation, such as 3m')

const taskRowShape = z.object({
  task_id: taskShape.shape.task_id,
  type: taskShape.shape.type,
  status: statusShape,
  age: ageShape,
  progress: z.string().optional().describe('The latest progress report in words'),
  summary: z.string().optional().describe('The work in one sentence'),
  error: z.string().optional().describe('Why the task failed or was canceled, in one line'),
})

export function taskRow(task: TaskView, now: number): z.output<typeof taskRowShape> {
  const progress = task.result === undefined ? progressWords(task.progress) : undefined
  return {
    task_id: task.task_id,
    type: task.type,
    status: task.status,
    age: age(task.created_at, now),
    ...(progress !== undefined && { progress: line(progress, MAX_SUMMARY) }),
    ...(task.summary !== null && { summary: line(task.summary, MAX_SUMMARY) }),
    ...(task.result?.error != null && { error: line(errorWords(task), MAX_ERROR) }),
  }
}

export const taskListSummary = summaryView({
  shape: z.object({ tasks: z.array(taskRowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { tasks: readonly TaskView[]; next_cursor: string | null }, now) => ({
    tasks: page.tasks.map((task) => taskRow(task, now)),
    next_cursor: page.next_cursor,
  }),
})

const createdSummaryShape = z.object({
  task_id: taskShape.shape.task_id,
  status: statusShape,
  is_duplicate: z.boolean().optional().describe('True if a task with this idempotency_key already existed'),
  live_workers: z.int().optional().describe('Number of recently active workers that take this type'),
  estimated_runtime_seconds: z.int().optional().describe('Usual run time of tasks of this type'),
  hint: z.string().optional().describe('What the task is waiting for'),
  console_url: z.string().optional().describe('Page of the task in the web console'),
})

type Created = z.output<typeof createdSummaryShape>

export const createdSummary = summaryView({
  shape: createdSummaryShape,
  of: (created: Created): Created => ({
    task_id: created.task_id,
    status: created.status,
    ...(created.is_duplicate && { is_duplicate: true }),
    ...compact({
      live_workers: created.live_workers,
      estimated_runtime_seconds: created.estimated_runtime_seconds,
      hint: created.hint,
      console_url: created.console_url,
    }),
  }),
})

/** What a model needs to know about one task: the state, what it waits for, and how it ended. */
const taskSummaryShape = taskRowShape.extend({
  done: z.boolean().optional().describe('Whether the task has ended'),
  next_check_after_seconds: z.number().optional().describe('Seconds after which to check again'),
  live_workers: z.int().optional().describe('Number of recently active workers that take this type'),
  payload: json.optional().describe('Input of the work; cut if it is long'),
  question: json.optional().describe('What the task waits for: n, kind, request'),
  result: json.optional().describe('The result; cut if it is long'),
  error: json.optional().describe('The error, if the task failed or was canceled'),
  artifacts: json.optional().describe('Where the result is stored'),
  hint: z.string().optional().describe('What to do next'),
  console_url: z.string().optional().describe('Page of the task in the web console'),
})

type Waited = TaskView & {
  readonly done?: boolean
  readonly next_check_after_seconds?: number
  readonly live_workers?: number | undefined
}

export const taskSummary = summaryView({
  shape: taskSummaryShape,
  of(task: Waited, now): z.output<typeof taskSummaryShape> {
    const { error: _, ...row } = taskRow(task, now)
    const { result, question } = task
    const isStored = result?.how_to_retrieve !== undefined
    return {
      ...row,
      ...compact({
        done: task.done,
        next_check_after_seconds: task.done === false ? task.next_check_after_seconds : undefined,
        live_workers: task.live_workers,
        payload: task.done ? undefined : cut(task.payload, MAX_PAYLOAD, 'Read it with view: full.'),
        question: question && { n: question.n, kind: question.kind, request: question.request },
        error: result && cut(result.error, MAX_RESULT, 'Read it with view: full.'),
        artifacts: isInline(result?.artifacts) ? undefined : result?.artifacts,
        hint: isStored ? 'Read the result with fetch_task_result.' : task.hint,
        console_url: task.console_url,
      }),
      // Also null, 0 and empty values are results.
      ...(result?.outcome === 'succeeded' &&
        !isStored && { result: cut(result.result, MAX_RESULT, 'Read it with fetch_task_result.') }),
    }
  },
})

/** Whether the task itself stores the result, so that the place says nothing. */
function isInline(artifacts: Json | undefined): boolean {
  return Array.isArray(artifacts) && artifacts.every((each) => isObject(each) && each.type === 'inline')
}

/** The value, or the beginning of its text if that is long. */
function cut(value: Json, length: number, rest: string): Json {
  const text = typeof value === 'string' ? value : canonicalText(value)
  if (text.length <= length) return value
  return { cut: text.slice(0, PREVIEW), characters: text.length, hint: rest }
}

/** Workers report any JSON; these are the members that MCP and people use. */
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

/** Why a task failed or was canceled. */
export function errorWords({ result }: Pick<TaskView, 'result'>): string {
  const error = result?.error
  if (!isObject(error)) return 'no reason was given.'
  const { message, reason, code } = error
  const words = [message, reason, code].find((word) => typeof word === 'string' && word !== '')
  return typeof words === 'string' ? words : JSON.stringify(error)
}
