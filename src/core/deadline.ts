import type { TaskCore } from './task.ts'

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
