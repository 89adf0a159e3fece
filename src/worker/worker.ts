import { Transport } from '../client/transport.ts'
import { Calls } from './calls.ts'
import { CancelReports } from './cancel-reports.ts'
import { listenForCancels } from './cancels.ts'
import { Claimer } from './claimer.ts'
import { CodeSchedules } from './code-schedules.ts'
import { Leases } from './leases.ts'
import { WorkerLog } from './log.ts'
import { Metrics, prometheusText, type WorkerMetrics } from './metrics.ts'
import { type Settings, settingsOf, type WorkerOptions } from './options.ts'
import { Publisher } from './publisher.ts'
import { Reporter } from './reporter.ts'
import { Runner } from './runner.ts'
import { within } from './timing.ts'
import { Work } from './work.ts'

/** The time limit of the last requests before the worker ends. */
const LAST_REQUESTS_MS = 1000

/** The worker starts to claim before its task types are published if that takes longer. */
const PUBLISH_MS = 500

export interface RunOptions {
  /** Stops the worker when it is aborted. */
  readonly signal?: AbortSignal
}

/** Claims tasks from a server and runs them until it is stopped. */
export class Worker {
  /** The name of the worker at the server. */
  readonly id: string
  readonly #settings: Settings
  readonly #deps: ReturnType<typeof assemble>
  readonly #schedules: CodeSchedules | undefined
  readonly #stopping = new AbortController()
  readonly #killing = new AbortController()
  /** Closes the event stream, after the last task has ended. */
  readonly #closing = new AbortController()
  #run: Promise<void> | undefined

  constructor(options: WorkerOptions) {
    this.#settings = settingsOf(options)
    this.id = this.#settings.workerId
    this.#deps = assemble(this.#settings, new Transport(options), () => this.#stop('drained by the operator'))
    const { definitions, schedules } = this.#settings
    if (schedules !== false)
      this.#schedules = new CodeSchedules(definitions.values(), schedules, options, this.#deps.log)
  }

  /** Runs until it is stopped. Rejects if the server refuses the first claim, for example because of a wrong key. */
  run({ signal }: RunOptions = {}): Promise<void> {
    if (this.#run !== undefined) throw new Error('A worker runs only once. Create another with worker().')
    this.#run = this.#live(signal)
    return this.#run
  }

  /** Claims no more tasks, lets handlers finish for a while and releases the others. Resolves when it has stopped. */
  async stop(reason = 'stop was called'): Promise<void> {
    this.#stop(reason)
    // The caller of run() gets the error.
    await this.#run?.catch(() => {})
  }

  /** Stops immediately: aborts the signals of handlers and releases their tasks without waiting for them. */
  async kill(): Promise<void> {
    this.#kill()
    await this.stop()
  }

  metrics(): WorkerMetrics {
    const { metrics, work, leases } = this.#deps
    const { concurrency } = this.#settings
    return metrics.read({ worker_id: this.id, concurrency, running: work.running, leases: leases.size })
  }

  /** The metrics in the text format of Prometheus. */
  metricsText(): string {
    return prometheusText(this.metrics())
  }

  #stop(reason: string): void {
    if (this.#stopping.signal.aborted) return
    this.#deps.log.info({ reason, running: this.#deps.work.running }, 'the worker is stopping')
    this.#stopping.abort()
  }

  #kill(): void {
    this.#stop('kill was called')
    this.#killing.abort()
  }

  async #live(signal: AbortSignal | undefined): Promise<void> {
    const { log } = this.#deps
    const { types, concurrency, signals } = this.#settings
    const abort = () => this.#stop('its signal was aborted')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
    const unsubscribe = signals ? this.#onSignals() : () => {}
    try {
      log.info({ types, concurrency }, 'the worker has started')
      await this.#claimUntilStopped()
    } finally {
      await this.#finish()
      signal?.removeEventListener('abort', abort)
      unsubscribe()
      log.info({}, 'the worker has stopped')
    }
  }

  /** SIGTERM or SIGINT stops the worker, and a second one kills it. Returns an unsubscribe function. */
  #onSignals(): () => void {
    const host = globalThis.process
    if (typeof host?.on !== 'function') return () => {}
    let isFirst = true
    const listener = (signal: string) => {
      if (isFirst) this.#stop(signal)
      else this.#kill()
      isFirst = false
    }
    const names = ['SIGTERM', 'SIGINT'] as const
    for (const name of names) host.on(name, listener)
    return () => {
      for (const name of names) host.off(name, listener)
    }
  }

  async #claimUntilStopped(): Promise<void> {
    const { claimer, publisher } = this.#deps
    this.#stopping.signal.addEventListener('abort', () => claimer.stop())
    this.#killing.signal.addEventListener('abort', () => claimer.kill())
    if (this.#stopping.signal.aborted) return
    const published = within(PUBLISH_MS, publisher.publish(), this.#stopping.signal)
    await Promise.all([listenForCancels(this.id, this.#closing.signal, this.#deps), published])
    void this.#schedules?.register(this.#stopping.signal)
    await claimer.run()
  }

  async #finish(): Promise<void> {
    const { work, cancelReports, calls, reporter, leases, publisher } = this.#deps
    const { stopMs, killMs, isNamed } = this.#settings
    const killed = this.#killing.signal
    if (!(await within(stopMs, work.isDone(), killed))) {
      work.abort()
      if (!(await within(killMs / 2, work.isDone(), killed))) {
        const released = work.releaseAll().then(() => work.isDone())
        await within(killed.aborted ? LAST_REQUESTS_MS : killMs / 2, released)
      }
    }
    await within(LAST_REQUESTS_MS, cancelReports.settled(), killed)
    // A publication after the worker is unregistered would register it again.
    await within(LAST_REQUESTS_MS, publisher.stop(), killed)
    if (!isNamed) {
      const unregistered = calls.unregister().catch(() => {})
      await within(LAST_REQUESTS_MS, unregistered)
    }
    this.#closing.abort()
    calls.close()
    reporter.close()
    leases.close()
  }
}

function assemble(settings: Settings, transport: Transport, onDrain: () => void) {
  const { workerId, logger, results, sendsLogs, hooks, concurrency, types, signer } = settings
  const log = new WorkerLog(logger, { worker_id: workerId })
  const metrics = new Metrics(types)
  const calls = new Calls(transport, workerId, onDrain)
  const cancelReports = new CancelReports(calls, log)
  const leases = new Leases({ calls, cancelReports, log, metrics })
  const runner = new Runner({ leases, calls, log, metrics, results, sendsLogs, hooks })
  const reporter = new Reporter({ calls, log, metrics, signer })
  const work = new Work(concurrency, { leases, runner, reporter, cancelReports, log, metrics })
  const publisher = new Publisher(settings, { calls, log })
  const onReconnected = () => void publisher.publish()
  const claimer = new Claimer(settings, { calls, work, log, metrics, onReconnected })
  return { transport, log, metrics, calls, cancelReports, leases, reporter, work, claimer, publisher }
}
