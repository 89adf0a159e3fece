import { backoff } from '../util/backoff.ts'
import { isObject } from '../util/guards.ts'
import type { Random } from '../util/random.ts'
import { type CanonicalJson, parseCanonical } from './json/json.ts'
import type { Settings } from './settings.ts'

/** How a task is retried, beyond its number of attempts and its first pause. */
export interface RetryPolicy {
  /** Each pause is this many times the one before. */
  readonly factor?: number | undefined
  /** No pause is longer; the limit of the server if absent. */
  readonly max_backoff_seconds?: number | undefined
  /** The share of each pause that is random, from 0 to 1. */
  readonly jitter?: number | undefined
  /** Only errors with one of these codes or names are retried. */
  readonly only?: readonly string[] | undefined
  /** Errors with one of these codes or names are not retried. */
  readonly except?: readonly string[] | undefined
}

/** What few tasks ask for; null in all others, so that they store nothing. */
export interface Scheduling {
  readonly retry?: RetryPolicy | undefined
}

/** Null if nothing is asked for. */
export function schedulingOf(asked: Scheduling): Scheduling | null {
  return Object.values(asked).every((value) => value === undefined) ? null : asked
}

interface Retried {
  readonly attempt: number
  readonly retry_backoff_seconds: number
  readonly scheduling: Scheduling | null
}

/** Whether the retry policy of a task allows another attempt after this error. */
export function isRetried({ scheduling }: Pick<Retried, 'scheduling'>, error: CanonicalJson): boolean {
  const { only, except } = scheduling?.retry ?? {}
  if (only === undefined && except === undefined) return true
  const value = parseCanonical(error)
  const names = isObject(value) ? [value.code, value.name] : []
  const isNamed = (list: readonly string[]) =>
    names.some((name) => typeof name === 'string' && list.includes(name))
  return (only === undefined || isNamed(only)) && (except === undefined || !isNamed(except))
}

const DOUBLED = 2

/** The pause before the next attempt, in milliseconds: the first one, then each `factor` times the one before. */
export function backoffMs(task: Retried, settings: Settings, random: Random): number {
  const { factor = DOUBLED, max_backoff_seconds, jitter = 0 } = task.scheduling?.retry ?? {}
  const max = (max_backoff_seconds ?? settings.max_retry_backoff_seconds) * 1000
  const pause = backoff(task.attempt + 1, task.retry_backoff_seconds * 1000, max, factor)
  return jitter === 0 ? pause : Math.round(pause * (1 - jitter * random.unit()))
}
