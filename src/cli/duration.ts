import { usageError } from './exit.ts'
import type { Input } from './input.ts'

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** The seconds of a duration such as 90d; undefined if the text is none. */
export function durationOf(given: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(given) ?? []
  const seconds = UNITS[unit]
  return seconds === undefined ? undefined : Number(count) * seconds
}

/** The value of an option that takes a time, or how long ago it was. */
export function pastTime<Name extends string>(input: Input<Name>, name: Name): string | undefined {
  const given = input.text(name)
  if (given === undefined) return undefined
  const seconds = durationOf(given)
  const time = seconds === undefined ? Date.parse(given) : Date.now() - seconds * 1000
  if (Number.isNaN(time)) {
    throw usageError(`--${name} takes a time, or how long ago, such as 24h or 7d; not "${given}".`)
  }
  return new Date(time).toISOString()
}
