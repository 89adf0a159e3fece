import { z } from 'zod'
import type { Output } from './output.ts'
import { paintStatus } from './output.ts'

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
  labels: z.record(z.string(), z.string()),
  progress: z.looseObject({}).optional(),
  lease: z.looseObject({ worker_id: z.string(), expires_at: z.string() }).optional(),
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
    ['progress', tellProgress(task)],
    ['payload', json(task.payload)],
    ['ended', task.result?.completed_at ?? ''],
    ['result', json(task.result?.result)],
    ['error', json(task.result?.error)],
    ['artifacts', json(task.result?.artifacts)],
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(10)} ${value}`)
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
