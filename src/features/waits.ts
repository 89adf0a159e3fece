import { z } from 'zod'
import type { Operation } from './define-operation.ts'

/** Tells of each input whether the operation may take its time over it, so that it has to hear when its caller leaves. */
export function mayTakeTime({
  input,
  isLong,
}: Operation): (given: Readonly<Record<string, unknown>>) => boolean {
  const field = input.shape.wait_seconds
  if (isLong) return () => true
  if (field === undefined) return () => false
  const unasked = z.number().catch(0).parse(z.parse(field, undefined))
  return ({ wait_seconds = unasked }) => wait_seconds !== 0
}
