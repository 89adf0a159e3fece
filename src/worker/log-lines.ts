import { GateError } from '../client/transport.ts'
import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import type { Fields, LogLevel, WorkerLog } from './log.ts'

export interface LogLine {
  readonly level: LogLevel
  readonly text: string
  readonly context?: Fields
}

/** The server takes so many in one request, and so much of each. */
const MAX_BATCH = 100
const MAX_TEXT = 8_000
const MAX_CONTEXT = 1_000

/** Lines that wait. What comes on top of that is counted and dropped. */
const MAX_WAITING = 1_000

const EVERY_MS = 500
/** After a request that failed. */
const AGAIN_MS = 2_000
/** How long the end of a task waits for its last lines. */
const LAST_MS = 2_000

/** The log of one task on its way to the server, in batches. Nothing of it ever reaches the handler. */
export class LogLines {
  readonly #lease: HeldLease
  readonly #calls: Calls
  readonly #log: WorkerLog
  #waiting: LogLine[] = []
  #dropped = 0
  #sending: Promise<boolean> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOff = false

  constructor(lease: HeldLease, calls: Calls, log: WorkerLog) {
    this.#lease = lease
    this.#calls = calls
    this.#log = log
  }

  add(level: LogLevel, message: string, fields: Fields): void {
    if (this.#isOff) return
    if (this.#waiting.length >= MAX_WAITING) this.#dropped += 1
    else this.#waiting.push(lineOf(level, message, fields))
    this.#after(EVERY_MS)
  }

  /** Sends what is left, as far as that does not take long: afterwards the lease is over. */
  async close(): Promise<void> {
    if (this.#waiting.length === 0 && this.#sending === undefined) return this.#stop()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_MS)
    })
    await Promise.race([this.#sendAll(), late])
    clearTimeout(timer)
    this.#stop()
  }

  #stop(): void {
    this.#isOff = true
    this.#waiting = []
    clearTimeout(this.#timer)
  }

  #after(ms: number): void {
    this.#timer ??= setTimeout(async () => {
      const wasTaken = await this.#send()
      this.#timer = undefined
      if (this.#waiting.length > 0) this.#after(wasTaken ? EVERY_MS : AGAIN_MS)
    }, ms)
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      if (!(await this.#send()) || this.#waiting.length === 0) return
    }
  }

  /** One request at a time keeps the lines in order. Whether there is nothing more to do about what was sent. */
  async #send(): Promise<boolean> {
    while (this.#sending !== undefined) await this.#sending
    if (this.#isOff || this.#lease.lost !== undefined) {
      this.#stop()
      return true
    }
    const batch = this.#waiting.slice(0, MAX_BATCH)
    if (batch.length === 0) return true
    this.#sending = this.#deliver(batch)
    const wasTaken = await this.#sending
    this.#sending = undefined
    if (wasTaken) this.#waiting.splice(0, batch.length)
    if (wasTaken && this.#dropped > 0 && this.#waiting.length < MAX_WAITING) {
      const text = `${this.#dropped} lines were dropped here: they came faster than they could be sent`
      this.#waiting.push({ level: 'warn', text })
      this.#dropped = 0
    }
    return wasTaken
  }

  async #deliver(batch: readonly LogLine[]): Promise<boolean> {
    try {
      await this.#calls.appendLogs(this.#lease.key, batch)
      return true
    } catch (error) {
      const isRefused = error instanceof GateError && !error.retryable
      if (!isRefused) return false
      const hasContext = batch.some((line) => line.context !== undefined)
      if (error.status === 400 && hasContext) return this.#deliver(batch.map(withoutContext))
      this.#log.of(this.#lease).debug({ error }, 'the log was not sent to the server')
      // Another batch would fare no better: the lease is over, or the server keeps no logs.
      if (error.status !== 400) this.#isOff = true
      return true
    }
  }
}

function lineOf(level: LogLevel, message: string, fields: Fields): LogLine {
  const text = clean(String(message)).slice(0, MAX_TEXT).toWellFormed() || '(no text)'
  const context = contextOf(fields)
  return context === undefined ? { level, text } : { level, text, context }
}

/** What can be sent of the fields. */
function contextOf(fields: Fields): Fields | undefined {
  if (Object.keys(fields).length === 0) return undefined
  try {
    const json = JSON.stringify(fields, (_, value) => (value instanceof Error ? briefly(value) : value))
    if (json.length > MAX_CONTEXT) return { truncated: clean(json).slice(0, MAX_CONTEXT).toWellFormed() }
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The stack is for the log of the worker only. */
function briefly(error: Error): Fields {
  const { name, message } = error
  return { name, message, ...('code' in error && { code: error.code }) }
}

function withoutContext({ level, text }: LogLine): LogLine {
  return { level, text }
}

function clean(text: string): string {
  return text.replaceAll('\0', '')
}
