import { Transport } from '../client/transport.ts'
import { Calls } from './calls.ts'
import { CancelReports } from './cancel-reports.ts'
import { Cancels } from './cancels.ts'
import { Claimer } from './claimer.ts'
import { timerMs } from './clock.ts'
import { Leases } from './leases.ts'
import { WorkerLog } from './log.ts'
import { Metrics, prometheusText, type WorkerMetrics } from './metrics.ts'
import { type Settings, settingsOf, type WorkerOptions } from './options.ts'
import { Reporter } from './reporter.ts'
import { Runner } from './runner.ts'
import { onSignals } from './signals.ts'
import { Work } from './work.ts'

/** What a worker that is killed still tries to tell the server has to be told within this. */
const LAST_WORDS_MS = 1000

export interface RunOptions {
  /** Stops the worker when it aborts. */
  readonly signal?: AbortSignal
}

/** Takes tasks from a server and does them, until it is stopped. */
export class Worker {
  /** Its name at the server. */
  readonly id: string
  readonly #settings: Settings
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #calls: Calls
  readonly #leases: Leases
  readonly #reporter: Reporter
  readonly #cancelReports: CancelReports
  readonly #work: Work
  readonly #cancels: Cancels
  readonly #claimer: Claimer
  readonly #stopping = new AbortController()
  readonly #killing = new AbortController()
  #run: Promise<void> | undefined

  constructor(options: WorkerOptions) {
    const settings = settingsOf(options)
    const { workerId, logger, results, concurrency, types } = settings
    const transport = new Transport(options)
    const log = new WorkerLog(logger, { worker_id: workerId })
    const metrics = new Metrics(types)
    const calls = new Calls(transport, workerId, () => this.#ask('drained by the operator'))
    const cancelReports = new CancelReports(calls, log)
    const leases = new Leases(calls, cancelReports, log, metrics)
    const runner = new Runner(leases, calls, log, metrics, results, settings.sendsLogs)
    const reporter = new Reporter(calls, log, metrics)
    const work = new Work(concurrency, { leases, runner, reporter, cancelReports, log, metrics })
    this.id = workerId
    this.#settings = settings
    this.#log = log
    this.#metrics = metrics
    this.#calls = calls
    this.#leases = leases
    this.#reporter = reporter
    this.#cancelReports = cancelReports
    this.#work = work
    this.#cancels = new Cancels(transport, workerId, { leases, log, metrics })
    this.#claimer = new Claimer(settings, { calls, work, log, metrics })
  }

  /** Works until it is stopped. Rejects if the server refuses it from the start, as with a wrong key. */
  run({ signal }: RunOptions = {}): Promise<void> {
    if (this.#run !== undefined) throw new Error('A worker runs only once. Make another with worker().')
    this.#run = this.#live(signal)
    return this.#run
  }

  /** Takes no new work, lets handlers finish for a while, and gives the rest back. Resolves when it has stopped. */
  async stop(reason = 'stop was called'): Promise<void> {
    this.#ask(reason)
    // Whoever runs it hears of what went wrong.
    await this.#run?.catch(() => {})
  }

  /** Stops at once: handlers are told, and what they have in hand is given back without waiting for them. */
  async kill(): Promise<void> {
    this.#end()
    await this.stop()
  }

  metrics(): WorkerMetrics {
    return this.#metrics.read({
      worker_id: this.id,
      concurrency: this.#settings.concurrency,
      running: this.#work.running,
      leases: this.#leases.size,
    })
  }

  /** The same for Prometheus. */
  metricsText(): string {
    return prometheusText(this.metrics())
  }

  #ask(reason: string): void {
    if (this.#stopping.signal.aborted) return
    this.#log.info({ reason, running: this.#work.running }, 'the worker stops')
    this.#stopping.abort()
  }

  #end(): void {
    this.#ask('kill was called')
    this.#killing.abort()
  }

  async #live(signal: AbortSignal | undefined): Promise<void> {
    const abort = () => this.#ask('its signal aborted')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
    const silence = this.#settings.signals
      ? onSignals(
          (name) => this.#ask(name),
          () => this.#end(),
        )
      : () => {}
    try {
      const { types, concurrency } = this.#settings
      this.#log.info({ types, concurrency }, 'the worker begins')
      await this.#claimUntilStopped()
    } finally {
      await this.#finish()
      signal?.removeEventListener('abort', abort)
      silence()
      this.#log.info({}, 'the worker has stopped')
    }
  }

  async #claimUntilStopped(): Promise<void> {
    this.#stopping.signal.addEventListener('abort', () => this.#claimer.stop())
    this.#killing.signal.addEventListener('abort', () => this.#claimer.kill())
    if (this.#stopping.signal.aborted) return
    await this.#cancels.listen()
    await this.#claimer.run()
  }

  async #finish(): Promise<void> {
    const { stopMs, killMs } = this.#settings
    const killed = this.#killing.signal
    const isDone = () => this.#work.isDone()
    if (!(await within(stopMs, isDone(), killed))) {
      this.#work.abort()
      if (!(await within(killMs / 2, isDone(), killed))) {
        const lastMs = killed.aborted ? LAST_WORDS_MS : killMs / 2
        await within(lastMs, this.#work.giveBack().then(isDone))
      }
    }
    await within(LAST_WORDS_MS, this.#cancelReports.settled(), killed)
    if (!this.#settings.isNamed)
      await within(
        LAST_WORDS_MS,
        this.#calls.unregister().catch(() => {}),
      )
    this.#cancels.stop()
    this.#calls.close()
    this.#reporter.close()
    this.#leases.close()
  }
}

/** Whether it happens within the time, and before the signal aborts. */
async function within(ms: number, event: Promise<unknown>, signal?: AbortSignal): Promise<boolean> {
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
