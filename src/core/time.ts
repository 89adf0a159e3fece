import type { TaskCore } from './task.ts'

/** ISO 8601 UTC with milliseconds, the public form of every time. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}

/**
 * The deadline is for the task as a whole, whatever its state. A lease, a delay or a question never reaches past it, so
 * the one wake time of the task is never later than its deadline. Only a ready task has no wake time.
 */
export function cutAtDeadline({ deadline_at }: Pick<TaskCore, 'deadline_at'>, time: number): number {
  return deadline_at === null ? time : Math.min(time, deadline_at)
}

export function isPastDeadline({ deadline_at }: Pick<TaskCore, 'deadline_at'>, time: number): boolean {
  return deadline_at !== null && deadline_at <= time
}

export const DAY_MS = 24 * 3600 * 1000

/** The due time of a task that waits for something else than a time: the last instant that a date can have. */
export const FOREVER = 8.64e15
