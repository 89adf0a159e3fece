import type { HeldLease } from './lease.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Where the worker writes. A logger of pino or bunyan fits as it is. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = keyof Logger

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** Known by its identity, so that lines for nobody are not even made. */
const nowhere = () => {}

/** JSON lines on stderr, or in the console of a browser. */
export function jsonLogger(least: LogLevel = 'info'): Logger {
  const write = (level: LogLevel) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return nowhere
    return (fields: object, message: string) =>
      console.error(JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg: message }))
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

export const silentLogger: Logger = { debug: nowhere, info: nowhere, warn: nowhere, error: nowhere }

/** Writes with the fields that belong to every line. A logger that throws stops no work. */
export class WorkerLog {
  readonly #logger: Logger
  readonly #fields: Fields

  constructor(logger: Logger, fields: Fields) {
    this.#logger = logger
    this.#fields = fields
  }

  /** Whether anybody reads lines for debugging. */
  get isVerbose(): boolean {
    return this.#logger.debug !== nowhere
  }

  /** For lines about one task. */
  of({ key, offer }: HeldLease): WorkerLog {
    const { worker_id, task_id, lease_id } = key
    const { type, attempt } = offer
    return new WorkerLog(this.#logger, { worker_id, task_id, lease_id, attempt, type })
  }

  debug(fields: Fields, message: string): void {
    this.#write('debug', fields, message)
  }

  info(fields: Fields, message: string): void {
    this.#write('info', fields, message)
  }

  warn(fields: Fields, message: string): void {
    this.#write('warn', fields, message)
  }

  error(fields: Fields, message: string): void {
    this.#write('error', fields, message)
  }

  #write(level: LogLevel, fields: Fields, message: string): void {
    if (this.#logger[level] === nowhere) return
    const { error } = fields
    const told = error instanceof Error ? { ...fields, error: describe(error) } : fields
    try {
      this.#logger[level]({ ...told, ...this.#fields }, message)
    } catch {}
  }
}

type Send = (level: LogLevel, message: string, fields: Fields) => void

/** `ctx.log`: lines that carry the ids of the task. Those that are not for debugging are also sent to the server. */
export class TaskLog {
  readonly #log: WorkerLog
  readonly #send: Send

  constructor(log: WorkerLog, send: Send) {
    this.#log = log
    this.#send = send
  }

  debug(message: string, fields: object = {}): void {
    this.#log.debug({ ...fields }, message)
  }

  info(message: string, fields: object = {}): void {
    this.#log.info({ ...fields }, message)
    this.#send('info', message, { ...fields })
  }

  warn(message: string, fields: object = {}): void {
    this.#log.warn({ ...fields }, message)
    this.#send('warn', message, { ...fields })
  }

  error(message: string, fields: object = {}): void {
    this.#log.error({ ...fields }, message)
    this.#send('error', message, { ...fields })
  }
}

/** An Error is empty in JSON. */
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
