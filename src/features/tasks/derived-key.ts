import { keyAt, shortKey } from '../task-types/payload-path.ts'
import type { TaskTypeRule } from '../task-types/task-type-rule.ts'
import type { CreateInput } from './task-input.ts'

/** The prefix of keys that a client library makes for one request, to be able to repeat it. */
const AUTOMATIC = 'auto-'

/** The idempotency key of a task: the one that its creator chose, or that of its type, or that of the client library. */
export function keyOf(type: TaskTypeRule | undefined, input: CreateInput): string | undefined {
  const given = input.idempotency_key
  if (given !== undefined && !given.startsWith(AUTOMATIC)) return given
  return derivedKey(type, input) ?? given
}

/** The idempotency key that the type makes from the payload; undefined if it makes none or the payload lacks the value. */
function derivedKey(type: TaskTypeRule | undefined, { payload }: CreateInput): string | undefined {
  const path = type?.options.idempotency_key_path ?? null
  if (type === undefined || path === null) return undefined
  const value = keyAt(payload, path)
  if (value === undefined) return undefined
  return shortKey(`${type.view.type}:${value}`)
}
