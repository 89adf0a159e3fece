import { type Duration, milliseconds, wholeSeconds } from './timing.ts'

/** How failed attempts are retried. */
export interface TaskRetry {
  /** The number of attempts, including the first. */
  readonly attempts?: number
  readonly backoff?: {
    /** The pause before the second attempt, in whole seconds. */
    readonly initial?: Duration
    /** Each further pause is this many times the one before; 2 by default. */
    readonly factor?: number
    /** The longest pause. */
    readonly max?: Duration
  }
  /** The random share of each pause, from 0 to 1; 0 by default. */
  readonly jitter?: number
  /** Only errors with one of these codes or names are retried. */
  readonly only?: readonly string[]
  /** Errors with one of these codes or names are not retried. */
  readonly except?: readonly string[]
}

/**
 * What the server enforces for every task of a type. The worker publishes it. A value that an admin has registered for
 * the type, or that the creator of a task gives, takes precedence.
 */
export interface TaskPolicy {
  readonly retry?: TaskRetry | undefined
  /** How long one attempt may take, in whole seconds. */
  readonly timeout?: Duration | undefined
  /** Tasks with a higher priority are claimed first. */
  readonly priority?: number | undefined
  /** Labels of all tasks of the type. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** How many tasks may be leased at once, over all workers and servers; with a key, for each value of it. */
  readonly concurrency?:
    | {
        readonly limit: number
        /** The path of a payload member, such as `customer_id` or `customer.id`. */
        readonly key?: string
      }
    | undefined
  /** How many leases may start in a window, over all workers and servers; with a key, for each value of it. */
  readonly rate?:
    | {
        readonly limit: number
        /** The length of the window in seconds. */
        readonly seconds: number
        /** The path of a payload member, such as `customer_id` or `customer.id`. */
        readonly key?: string
      }
    | undefined
  /** Days after the end of a task at which its contents are removed. */
  readonly retentionDays?: number | undefined
  /**
   * The path of the payload member, such as `order_id` or `order.id`, that makes the idempotency key of a task that is
   * created without one.
   */
  readonly idempotencyKey?: string | undefined
}

/** The `options` of a published type; undefined if there are none. */
export function publishedOptions(
  name: string,
  policy: TaskPolicy,
): Readonly<Record<string, unknown>> | undefined {
  const check = (field: string, isValid: boolean, rule: string) => {
    if (!isValid) throw new TypeError(`Task "${name}": ${field} must be ${rule}.`)
  }
  const { retry, timeout, priority, labels, concurrency, rate, retentionDays, idempotencyKey } = policy
  const { attempts, backoff = {}, jitter, only, except } = retry ?? {}
  const { initial, factor, max } = backoff
  check('retry.attempts', isWhole(attempts, 1, 1000), 'an integer from 1 to 1000')
  check('retry.backoff.factor', isWithin(factor, 1, 100), 'a number from 1 to 100')
  check('retry.jitter', isWithin(jitter, 0, 1), 'a number from 0 to 1')
  const limit = concurrency?.limit
  check('concurrency.limit', isWhole(limit, 1, 100_000), 'an integer from 1 to 100000')
  check('rate.limit', isWhole(rate?.limit, 1, 100_000), 'an integer from 1 to 100000')
  check('rate.seconds', isWhole(rate?.seconds, 1, 86_400), 'an integer from 1 to 86400')
  check('priority', isWhole(priority, -1000, 1000), 'an integer from -1000 to 1000')
  check('retentionDays', isWhole(retentionDays, 1, 36_500), 'an integer from 1 to 36500')
  const rules = present({ factor, max_backoff_seconds: secondsOf(max), jitter, only, except })
  const options = present({
    default_priority: priority,
    default_max_attempts: attempts,
    default_retry_backoff_seconds: secondsOf(initial),
    default_retry: Object.keys(rules).length === 0 ? undefined : rules,
    default_timeout_seconds: secondsOf(timeout),
    default_labels: labels,
    concurrency,
    rate,
    retention_days: retentionDays,
    idempotency_key_path: idempotencyKey,
  })
  return Object.keys(options).length === 0 ? undefined : options
}

function isWithin(value: number | undefined, min: number, max: number): boolean {
  return value === undefined || (typeof value === 'number' && value >= min && value <= max)
}

function isWhole(value: number | undefined, min: number, max: number): boolean {
  return isWithin(value, min, max) && (value === undefined || Number.isInteger(value))
}

function secondsOf(duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : wholeSeconds(milliseconds(duration))
}

function present(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
