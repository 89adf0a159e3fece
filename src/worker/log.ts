import type { Offer } from '../client/operations.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Receives the log of the worker. Loggers of pino and bunyan have this interface. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = keyof Logger

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** A line of a task log, as the API takes it. */
export interface LogLine {
  readonly level: LogLevel
  readonly text: string
  readonly context?: Fields
}

/** Compared by identity, so that lines below the log level are not even formatted. */
const discard = () => {}

/** Writes JSON lines to stderr, or to the console of a browser. */
export function jsonLogger(minimum: LogLevel = 'info'): Logger {
  const write = (level: LogLevel) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(minimum)) return discard
    return (fields: object, message: string) =>
      console.error(JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg: message }))
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

export const silentLogger: Logger = { debug: discard, info: discard, warn: discard, error: discard }

/** The part of a lease that its log lines name. */
interface LoggedLease {
  readonly key: { readonly worker_id: string; readonly task_id: string; readonly lease_id: string }
  readonly offer: Pick<Offer, 'type' | 'attempt'>
}

/** Adds the same fields to every line. An exception of the logger is ignored. */
export class WorkerLog {
  readonly #logger: Logger
  readonly #fields: Fields

  constructor(logger: Logger, fields: Fields) {
    this.#logger = logger
    this.#fields = fields
  }

  /** Whether debug lines are written. */
  get isVerbose(): boolean {
    return this.#logger.debug !== discard
  }

  /** The log for lines about one task. */
  of({ key: { worker_id, task_id, lease_id }, offer: { type, attempt } }: LoggedLease): WorkerLog {
    return new WorkerLog(this.#logger, { worker_id, task_id, lease_id, attempt, type })
  }

  debug(fields: Fields, message: string): void {
    this.write('debug', fields, message)
  }

  info(fields: Fields, message: string): void {
    this.write('info', fields, message)
  }

  warn(fields: Fields, message: string): void {
    this.write('warn', fields, message)
  }

  error(fields: Fields, message: string): void {
    this.write('error', fields, message)
  }

  write(level: LogLevel, fields: Fields, message: string): void {
    if (this.#logger[level] === discard) return
    const { error } = fields
    const logged = error instanceof Error ? { ...fields, error: describe(error) } : fields
    try {
      this.#logger[level]({ ...logged, ...this.#fields }, message)
    } catch {}
  }
}

/** `ctx.log`: lines that carry the ids of the task. All except debug lines are also sent to the server. */
export type TaskLog = Readonly<Record<LogLevel, (message: string, fields?: object) => void>>

/** An Error as JSON, because JSON.stringify turns it into an empty object. */
function describe(error: Error): Fields {
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    ...('code' in error && { code: error.code }),
    stack,
    ...(cause instanceof Error && { cause: describe(cause) }),
  }
}
