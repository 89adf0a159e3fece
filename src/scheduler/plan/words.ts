import type { Timing } from './timetable.ts'

const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October'],
  ...['November', 'December'],
]
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']

/** More times than this are no easier to read than the expression. */
const MAX_TIMES = 4

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
]

/** When a schedule runs, such as `every weekday at 09:00 Europe/Berlin`. An expression without words is quoted. */
export function timingWords(timing: Timing): string {
  if (timing.mode === 'interval') return intervalWords(timing.interval_seconds)
  const { cron_expr, timezone } = timing
  const pattern = cron_expr.trim()
  return cronWords(NICKNAMES[pattern] ?? pattern, timezone) ?? `at the times of "${cron_expr}" ${timezone}`
}

function intervalWords(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds % size === 0) ?? [1, 'second']
  return every(seconds / size, unit)
}

function every(n: number, unit: string): string {
  return n === 1 ? `every ${unit}` : `every ${n} ${unit}s`
}

/** Undefined if the expression has something that these words do not cover. */
function cronWords(pattern: string, timezone: string): string | undefined {
  const fields = pattern.toUpperCase().split(/\s+/)
  if (fields.length === 6 && fields[0] === '0') fields.shift()
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  if (fields.length !== 5) return undefined
  const time = timeOf(minute, hour)
  const date = dateOf(day, month, weekday)
  if (time === undefined || date === undefined) return undefined
  if (time.isPeriodic) {
    const isAlways = date === 'every day'
    if (isAlways && time.isAllDay) return time.words
    return `${time.words}${isAlways ? '' : `, ${date}`} ${timezone}`
  }
  return `${date} ${time.words} ${timezone}`
}

interface TimeWords {
  readonly words: string
  /** Whether it happens again and again within a day, and so reads first. */
  readonly isPeriodic: boolean
  /** Whether it happens in every hour, and so means the same in most time zones. */
  readonly isAllDay: boolean
}

function timeOf(minute: string, hour: string): TimeWords | undefined {
  const minutes = numbersIn(minute, 59)
  const hours = numbersIn(hour, 23)
  const step = stepOf(minute, 60)
  if (step !== undefined) {
    const words = every(step, 'minute')
    if (hour === '*') return { words, isPeriodic: true, isAllDay: true }
    const range = rangeOf(hour, 23)
    if (range === undefined) return undefined
    return { words: `${words} from ${clock(range[0], 0)} to ${clock(range[1], 59)}`, ...WITHIN }
  }
  const [at = 0] = minutes ?? []
  if (minutes === undefined || (minutes.length !== 1 && hours === undefined)) return undefined
  const hourStep = stepOf(hour, 24)
  if (hourStep !== undefined) {
    const words = every(hourStep, 'hour')
    const isAllDay = hourStep === 1
    return { words: at === 0 ? words : `${words} at minute ${at}`, isPeriodic: true, isAllDay }
  }
  const range = rangeOf(hour, 23)
  if (range !== undefined && hour.includes('-')) {
    return { words: `every hour from ${clock(range[0], at)} to ${clock(range[1], at)}`, ...WITHIN }
  }
  if (hours === undefined || hours.length * minutes.length > MAX_TIMES) return undefined
  const times = hours.flatMap((h) => minutes.map((m) => clock(h, m)))
  return { words: `at ${list(times)}`, isPeriodic: false, isAllDay: false }
}

const WITHIN = { isPeriodic: true, isAllDay: false } as const

/** The days. If both a day of the month and a weekday are given, either is enough. */
function dateOf(day: string, month: string, weekday: string): string | undefined {
  const months = month === '*' ? [] : numbersIn(named(month, MONTHS, 1), 12)
  if (months === undefined) return undefined
  const names = months.map((n) => MONTHS[n - 1] ?? '')
  const inMonths = names.length === 0 ? '' : ` in ${list(names)}`
  const days = day === '*' ? undefined : daysOf(day, names)
  const weekdays = weekday === '*' ? undefined : weekdaysOf(weekday)
  if (days === null || weekdays === null) return undefined
  if (days !== undefined && weekdays !== undefined) {
    return names.length > 0 ? undefined : `${days} and ${weekdays}`
  }
  return days ?? `${weekdays ?? 'every day'}${inMonths}`
}

/** Null if there are no words for it. */
function daysOf(day: string, months: readonly string[]): string | null {
  const of = months.length === 0 ? 'every month' : list(months)
  if (day === 'L') return `on the last day of ${of}`
  const days = numbersIn(day, 31)
  if (days === undefined || days.length > MAX_TIMES) return null
  if (days.length === 1 && months.length === 1) return `on ${days[0]} ${months[0]}`
  return `on day ${list(days.map(String))} of ${of}`
}

function weekdaysOf(field: string): string | null {
  const numbered = named(field, DAYS, 0)
  const nth = /^(\d)#([1-5L])$/.exec(numbered) ?? /^(\d)(L)$/.exec(numbered)
  if (nth !== null) {
    const ordinal = nth[2] === 'L' ? 'last' : ORDINALS[Number(nth[2]) - 1]
    const name = DAYS[Number(nth[1]) % 7]
    return ordinal === undefined || name === undefined ? null : `on the ${ordinal} ${name} of every month`
  }
  const given = numbersIn(numbered, 7)
  if (given === undefined) return null
  // Weeks are read from Monday on, and both 0 and 7 are Sunday.
  const days = [...new Set(given.map((n) => (n === 0 ? 7 : n)))].sort((a, b) => a - b)
  const key = days.join()
  if (key === '1,2,3,4,5') return 'every weekday'
  if (key === '6,7') return 'every Saturday and Sunday'
  if (days.length === 7) return 'every day'
  return `every ${list(days.map((n) => DAYS[n % 7] ?? ''))}`
}

/** Replaces names of three letters by their numbers. */
function named(field: string, names: readonly string[], first: number): string {
  return field.replace(/[A-Z]{3}/g, (short) => {
    const index = names.findIndex((name) => name.slice(0, 3).toUpperCase() === short)
    return index < 0 ? short : String(index + first)
  })
}

/** The numbers of a list of numbers and ranges; undefined if it has something else. */
function numbersIn(field: string, max: number): number[] | undefined {
  const numbers: number[] = []
  for (const part of field.split(',')) {
    const range = rangeOf(part, max)
    if (range === undefined) return undefined
    for (let n = range[0]; n <= range[1]; n++) numbers.push(n)
  }
  return numbers
}

/** The bounds of a number or a range. */
function rangeOf(part: string, max: number): readonly [number, number] | undefined {
  const match = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(part)
  if (match === null) return undefined
  const from = Number(match[1])
  const to = Number(match[2] ?? match[1])
  return from <= to && to <= max ? [from, to] : undefined
}

/** The interval of a field that repeats evenly: one that does not divide `size` has a shorter gap at its end. */
function stepOf(field: string, size: number): number | undefined {
  if (field === '*') return 1
  const step = Number(/^(?:\*|0)\/(\d{1,2})$/.exec(field)?.[1])
  return step > 0 && size % step === 0 ? step : undefined
}

function clock(hour: number, minute: number): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
