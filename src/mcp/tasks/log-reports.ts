import type { LoggingLevel } from '@modelcontextprotocol/server'
import type { LogLevel } from '../../core/log.ts'
import type { Gate } from '../../features/gate.ts'
import type { CreatedTask } from '../tools/tool.ts'
import type { ClientPeer } from '../transport/peer.ts'

const LEVELS: Readonly<Record<LogLevel, LoggingLevel>> = {
  debug: 'debug',
  info: 'info',
  warn: 'warning',
  error: 'error',
}

const READ_EVERY_MS = 1_000
const PAGE = 100

interface LogReportsDeps {
  readonly gate: Pick<Gate, 'listLogs'>
  readonly peer: ClientPeer
  readonly onError: (error: unknown) => void
}

/** Sends the log lines of the workers of a task to a client that has set a log level. Workers log on any server. */
export class LogReports {
  readonly #deps: LogReportsDeps
  readonly #task: CreatedTask
  readonly #timer: NodeJS.Timeout
  #reading: Promise<void> | undefined
  /** The page that is not full yet, and the number of its lines that were sent. */
  #cursor: string | undefined
  #sent = 0

  constructor(deps: LogReportsDeps, task: CreatedTask) {
    this.#deps = deps
    this.#task = task
    this.#timer = setInterval(() => void this.#read(), READ_EVERY_MS).unref()
  }

  /** Sends the lines that are there. Resolves when no further line follows. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#reading
    await this.#read()
  }

  /** One read at a time. */
  #read(): Promise<void> {
    this.#reading ??= this.#readPages()
      .catch(this.#deps.onError)
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  async #readPages(): Promise<void> {
    const { gate, peer } = this.#deps
    const { caller, created } = this.#task
    const { task_id } = created
    for (;;) {
      const from = this.#cursor === undefined ? {} : { cursor: this.#cursor }
      const { lines, next_cursor } = await gate.listLogs(caller, { task_id, limit: PAGE, ...from })
      for (const { level, text, context } of lines.slice(this.#sent)) {
        const data = context === undefined ? text : { text, ...context }
        peer.notify('notifications/message', { level: LEVELS[level], logger: `task ${task_id}`, data })
      }
      this.#sent = lines.length
      if (next_cursor === null) return
      this.#cursor = next_cursor
      this.#sent = 0
    }
  }
}
