import { z } from 'zod'

// The older protocols count priorities from 1 to 10, where 5 is what is now 0.

export const oldPriority = z.int().min(1).max(10)

const MIDDLE = 5

export function newPriority(priority: number): number {
  return priority - MIDDLE
}

/** A priority outside of the old scale is shown as its nearest end. */
export function asOldPriority(priority: number): number {
  return Math.min(10, Math.max(1, priority + MIDDLE))
}
