import { GateError } from '../client/gate-error.ts'
import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import type { Fields, LogLevel, LogLine, WorkerLog } from './log.ts'
import { within } from './timing.ts'

/** Limits of the API. */
const MAX_BATCH = 100
const MAX_TEXT = 8_000
const MAX_CONTEXT = 1_000

/** The size of the queue. Lines beyond it are counted and dropped. */
const MAX_WAITING = 1_000

const INTERVAL_MS = 500
const RETRY_MS = 2_000
/** How long the end of a task waits for its last lines. */
const LAST_MS = 2_000

/** Sends the log of one task to the server, in batches. No error reaches the handler. */
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
    this.#sendAfter(INTERVAL_MS)
  }

  /** Sends the remaining lines within a time limit: the lease ends afterwards. */
  async close(): Promise<void> {
    if (this.#waiting.length === 0 && this.#sending === undefined) return this.#stop()
    await within(LAST_MS, this.#sendAll())
    this.#stop()
  }

  #stop(): void {
    this.#isOff = true
    this.#waiting = []
    clearTimeout(this.#timer)
  }

  #sendAfter(ms: number): void {
    this.#timer ??= setTimeout(async () => {
      const isDone = await this.#send()
      this.#timer = undefined
      if (this.#waiting.length > 0) this.#sendAfter(isDone ? this.#nextMs : RETRY_MS)
    }, ms)
  }

  /** A full batch does not wait: lines that come faster than they are sent are dropped. */
  get #nextMs(): number {
    return this.#waiting.length >= MAX_BATCH ? 0 : INTERVAL_MS
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      if (!(await this.#send()) || this.#waiting.length === 0) return
    }
  }

  /** Sends one batch; one request at a time keeps the lines in order. False if the batch must be sent again. */
  async #send(): Promise<boolean> {
    while (this.#sending !== undefined) await this.#sending
    if (this.#isOff || this.#lease.lost !== undefined) {
      this.#stop()
      return true
    }
    const batch = this.#waiting.slice(0, MAX_BATCH)
    if (batch.length === 0) return true
    this.#sending = this.#deliver(batch)
    const isDone = await this.#sending
    this.#sending = undefined
    if (isDone) this.#waiting.splice(0, batch.length)
    if (isDone && this.#dropped > 0 && this.#waiting.length < MAX_WAITING) {
      const text = `${this.#dropped} lines were dropped here because they came faster than they could be sent`
      this.#waiting.push({ level: 'warn', text })
      this.#dropped = 0
    }
    return isDone
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
      // Other batches would be refused too: the lease has ended, or the server stores no logs.
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

/** Without the stack, which only the log of the worker contains. */
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
