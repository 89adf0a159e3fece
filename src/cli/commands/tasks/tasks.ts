import { z } from 'zod'
import { visibleLine } from '../../../util/untrusted-text.ts'
import type { Output } from '../../output.ts'
import { paintStatus } from '../../output.ts'

const principal = z.looseObject({ kind: z.string(), id: z.string() })

/** As much of a task as is shown here; a newer server may say more. */
export const taskShape = z.looseObject({
  task_id: z.string(),
  type: z.string(),
  status: z.string(),
  summary: z.string().nullable(),
  created_by: principal,
  created_at: z.string(),
  attempt: z.number(),
  max_attempts: z.number(),
  priority: z.number(),
  payload: z.unknown(),
  console_url: z.string().optional(),
  hint: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  progress: z.looseObject({}).optional(),
  lease: z.looseObject({ worker_id: z.string(), expires_at: z.string() }).optional(),
  question: z
    .looseObject({
      kind: z.string(),
      request: z.looseObject({ title: z.string().optional(), message: z.string().optional() }),
      asked_at: z.string(),
    })
    .nullable()
    .optional(),
  cancellation: z
    .looseObject({
      requested_at: z.string(),
      requested_by: principal,
      reason: z.string().nullable(),
      acknowledged_at: z.string().nullable(),
      stopped_at: z.string().nullable(),
    })
    .optional(),
  result: z
    .looseObject({
      outcome: z.string(),
      result: z.unknown(),
      error: z.unknown(),
      artifacts: z.unknown(),
      completed_at: z.string(),
    })
    .optional(),
})

export type Task = z.output<typeof taskShape>

export const createdShape = z.looseObject({
  task_id: z.string(),
  status: z.string(),
  is_duplicate: z.boolean(),
  hint: z.string().optional(),
})

export function tellTask(output: Output, task: Task): void {
  const lines: [string, string][] = [
    ['task', task.task_id],
    ['type', task.type],
    ['status', paintStatus(task.status)],
    ['summary', task.summary ?? ''],
    ['created', `${task.created_at} by ${task.created_by.kind}:${task.created_by.id}`],
    ['attempts', `${task.attempt} of ${task.max_attempts} failed; priority ${task.priority}`],
    [
      'labels',
      Object.entries(task.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    ],
    ['lease', task.lease === undefined ? '' : `${task.lease.worker_id} until ${task.lease.expires_at}`],
    ['waits for', tellQuestion(task)],
    ['progress', tellProgress(task)],
    ['payload', json(task.payload)],
    ['ended', task.result?.completed_at ?? ''],
    ...tellCancellation(task),
    ['result', json(task.result?.result)],
    ['error', json(task.result?.error)],
    ['artifacts', json(task.result?.artifacts)],
    ['console', task.console_url ?? ''],
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(12)} ${value}`)
}

/** What a task waits for, and how to give it. */
function tellQuestion({ task_id, question }: Task): string {
  if (question === undefined || question === null) return ''
  const { kind, request, asked_at } = question
  const what = visibleLine(request.title ?? request.message ?? '', 500)
  const next = kind === 'approval' ? `approvals show ${task_id}` : `tasks answer ${task_id}`
  return `${kind} since ${asked_at}: ${what} ("asyncgate ${next}")`
}

/** How far a cancel has come with the worker that held the task. */
function tellCancellation({ cancellation }: Task): [string, string][] {
  if (cancellation === undefined) return []
  const { requested_at, requested_by, reason, acknowledged_at, stopped_at } = cancellation
  const because = reason === null ? '' : `: ${reason}`
  return [
    ['canceled', `${requested_at} by ${requested_by.kind}:${requested_by.id}${because}`],
    ['acknowledged', acknowledged_at ?? 'not yet: the worker has not heard of it'],
    ['stopped', stopped_at ?? 'not yet: the worker has not said so'],
  ]
}

/** Percent and message, or whatever else the worker said. */
export function tellProgress({ progress }: Task): string {
  if (progress === undefined) return ''
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
