import { z } from 'zod'
import { labels, ONE_YEAR, seconds, text } from '../input.ts'
import { payloadPath } from './payload-path.ts'

const count = (max: number, min = 1) => z.int().min(min).max(max)

const errorNames = z.array(text(200)).min(1).max(50).readonly()

/** How tasks are retried, beyond the number of attempts and the first pause. */
export const retryPolicy = z.strictObject({
  factor: z
    .number()
    .min(1)
    .max(100)
    .optional()
    .describe('Each pause before a retry is this many times the one before; 2 if absent'),
  max_backoff_seconds: seconds(ONE_YEAR)
    .optional()
    .describe('Maximum pause before a retry; the maximum of the server if absent'),
  jitter: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Random share of each pause, from 0 to 1, so that tasks are not retried together; 0 if absent'),
  only: errorNames.optional().describe('Retry only errors with one of these codes or names'),
  except: errorNames.optional().describe('Do not retry errors with one of these codes or names'),
})

/**
 * The options of a type that an admin registers or that its workers publish. Those of the admin take precedence, one by
 * one, and a task that sets a value itself overrides both.
 */
export const typeOptionFields = {
  default_priority: count(1000, -1000).describe(
    'Default priority of tasks; the default of the server if absent',
  ),
  default_max_attempts: count(1000).describe(
    'Default max_attempts of tasks; the default of the server if absent',
  ),
  default_retry_backoff_seconds: seconds(ONE_YEAR).describe(
    'Default retry_backoff_seconds of tasks; the default of the server if absent',
  ),
  default_retry: retryPolicy.describe('Default retry of tasks: pauses between attempts, and which errors'),
  default_timeout_seconds: seconds(ONE_YEAR, 1).describe(
    'Default timeout_seconds of tasks; no limit if absent',
  ),
  default_labels: labels.describe('Labels of all tasks of the type. A task can replace them by name'),
  concurrency: z
    .strictObject({
      limit: count(100_000).describe('Number of tasks that may be leased at once'),
      key: payloadPath
        .optional()
        .describe('Path of a payload member, such as customer_id: the limit applies to each of its values'),
    })
    .describe('How many tasks of the type may be leased at once, over all workers and servers'),
  rate: z
    .strictObject({
      limit: count(100_000).describe('Number of leases that may start in a window'),
      seconds: count(86_400).describe('Length of the window, which begins with its first lease'),
      key: payloadPath
        .optional()
        .describe('Path of a payload member, such as customer_id: the rate applies to each of its values'),
    })
    .describe('How many leases of tasks of the type may start in a window, over all workers and servers'),
  retention_days: count(36_500).describe(
    'Default retention_days of tasks: days after their end at which their contents are removed; the default of the server if absent',
  ),
  idempotency_key_path: payloadPath.describe(
    'Path of the payload member, such as order_id, that makes the idempotency key of a task without one',
  ),
}

export const typeOptions = z.strictObject(typeOptionFields).partial()

type Given = z.output<typeof typeOptions>

/** The options of a type. Absent ones are null. */
export type TypeOptions = { readonly [Name in keyof Given]-?: NonNullable<Given[Name]> | null }

/** Only the options, with null for absent ones. */
export function optionsOf(given: Given | Partial<TypeOptions>): TypeOptions {
  return {
    default_priority: given.default_priority ?? null,
    default_max_attempts: given.default_max_attempts ?? null,
    default_retry_backoff_seconds: given.default_retry_backoff_seconds ?? null,
    default_retry: given.default_retry ?? null,
    default_timeout_seconds: given.default_timeout_seconds ?? null,
    default_labels: given.default_labels ?? null,
    concurrency: given.concurrency ?? null,
    rate: given.rate ?? null,
    retention_days: given.retention_days ?? null,
    idempotency_key_path: given.idempotency_key_path ?? null,
  }
}

/** The options of `first`, and those of `second` where the first has none. */
export function withFallback(first: TypeOptions, second: TypeOptions): TypeOptions {
  return {
    default_priority: first.default_priority ?? second.default_priority,
    default_max_attempts: first.default_max_attempts ?? second.default_max_attempts,
    default_retry_backoff_seconds:
      first.default_retry_backoff_seconds ?? second.default_retry_backoff_seconds,
    default_retry: first.default_retry ?? second.default_retry,
    default_timeout_seconds: first.default_timeout_seconds ?? second.default_timeout_seconds,
    default_labels: first.default_labels ?? second.default_labels,
    concurrency: first.concurrency ?? second.concurrency,
    rate: first.rate ?? second.rate,
    retention_days: first.retention_days ?? second.retention_days,
    idempotency_key_path: first.idempotency_key_path ?? second.idempotency_key_path,
  }
}
