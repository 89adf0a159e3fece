/** Milliseconds, or a text such as `500ms`, `60s`, `10m`, `2h` or `1d`. */
export type Duration = number | `${number}${keyof typeof UNITS}`

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

export function milliseconds(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return duration
  } else {
    const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration) ?? []
    if (isUnit(unit)) return Number(count) * UNITS[unit]
  }
  throw new TypeError(`"${duration}" is not a duration. Use milliseconds or a text such as "60s" or "10m".`)
}

function isUnit(unit: string | undefined): unit is keyof typeof UNITS {
  return unit !== undefined && unit in UNITS
}

/** The API takes integer seconds. Rounding up never shortens a duration. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** A monotonic clock; only differences between its readings are meaningful. */
export const now = (): number => performance.now()

/** Runs a function after the current event-loop phase, before any other I/O. */
export const soon: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : (run) => setTimeout(run, 0)

/** Timers count in 32 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Whether the event happens in time and before the signal is aborted. */
export async function within(ms: number, event: Promise<unknown>, signal?: AbortSignal): Promise<boolean> {
  let giveUp = () => {}
  const late = new Promise<false>((resolve) => {
    giveUp = () => resolve(false)
  })
  const timer = setTimeout(giveUp, timerMs(ms))
  signal?.addEventListener('abort', giveUp)
  if (signal?.aborted) giveUp()
  const isInTime = await Promise.race([event.then(() => true), late])
  clearTimeout(timer)
  signal?.removeEventListener('abort', giveUp)
  return isInTime
}

export function timerMs(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_TIMER_MS)
}

/**
 * Bounds the age of a response that is being read. A process that was stopped, or a machine that was suspended, may
 * read a response long after it arrived.
 */
export class Heartbeat {
  #timer: ReturnType<typeof setInterval> | undefined
  #last = now()
  #previous = this.#last

  start(intervalMs: number): void {
    this.#previous = this.#last = now()
    this.#timer = setInterval(() => {
      this.#previous = this.#last
      this.#last = now()
    }, intervalMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /**
   * A response that is read now had not arrived at this time. It is the second last beat: the first beat after a
   * suspension may run before the responses that arrived during it are read.
   */
  get notBefore(): number {
    return this.#previous
  }
}

/** Limits how many calls run concurrently; the others wait in order. */
export class Limiter {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await call()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
