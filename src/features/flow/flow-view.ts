import { z } from 'zod'
import { type ChildCounts, WAIT_MODES } from '../../core/flow.ts'
import type { Task } from '../../core/task.ts'

const number = z.int().nonnegative()

export const childrenShape = z.object({
  total: number.describe('Number of tasks that name this one as their parent'),
  done: number.describe('How many of them have ended'),
  failed: number.describe('How many of them have failed or were canceled'),
})

export const waitingShape = z.object({
  tasks: number.describe('Number of tasks that have yet to end'),
  mode: z.enum(WAIT_MODES).describe('Whether all of them have to end, or any one is enough'),
})

export function childrenView({
  total,
  succeeded,
  failed,
  canceled,
}: ChildCounts): z.output<typeof childrenShape> {
  return { total, done: succeeded + failed + canceled, failed: failed + canceled }
}

/** What a queued task waits for, besides a time. */
export function waitingView({ status, flow }: Task): z.output<typeof waitingShape> | undefined {
  if (status !== 'queued' || !flow?.waiting) return undefined
  const { left, mode } = flow.waiting
  return { tasks: left, mode }
}
