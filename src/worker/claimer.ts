import { backoff, pause, RETRY_POLL } from '../client/backoff.ts'
import { GateError, pauseAfter } from '../client/gate-error.ts'
import type { Offer } from '../client/operations.ts'
import type { Calls } from './calls.ts'
import { HeldLease } from './lease.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Settings } from './options.ts'
import { Heartbeat, now, soon } from './timing.ts'
import type { Work } from './work.ts'

/** The maximum of `max_tasks`. */
const MAX_TASKS = 100

/** When the worker stops, a pending claim may take this long. The tasks that it returns are released. */
const LAST_CLAIM_MS = 250

/** A server that is shutting down answers a claim early, without tasks. */
const EARLY_MS = 500
const EARLY_PAUSES = { firstMs: 100, maxMs: 5000 }

const HEARTBEAT_MS = { min: 50, max: 500 }

interface Deps {
  readonly calls: Calls
  readonly work: Work
  readonly log: WorkerLog
  readonly metrics: Metrics
  /** The server answers again after an outage. */
  readonly onReconnected: () => void
}

/** Claims as many tasks as there are free handlers, and long-polls for more. */
export class Claimer {
  readonly #settings: Settings
  readonly #deps: Deps
  readonly #heartbeat = new Heartbeat()
  readonly #stopping = new AbortController()
  /** Aborts the pending claim, shortly after `#stopping`. */
  readonly #leaving = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAccepted = false
  /** True until all leases of an earlier process are taken over. */
  #reclaims: boolean
  #failures = 0
  #earlyResponses = 0

  constructor(settings: Settings, deps: Deps) {
    this.#settings = settings
    this.#reclaims = settings.reclaim
    this.#deps = deps
  }

  /** Runs until it is stopped. Rejects if the first claim is refused, because then the configuration is wrong. */
  async run(): Promise<void> {
    const { leaseSeconds } = this.#settings
    const beatMs = leaseSeconds === undefined ? HEARTBEAT_MS.max : (leaseSeconds * 1000) / 20
    this.#heartbeat.start(Math.min(Math.max(beatMs, HEARTBEAT_MS.min), HEARTBEAT_MS.max))
    try {
      while (!this.#isStopping) await this.#once()
    } catch (error) {
      if (!this.#isStopping) throw error
    } finally {
      clearTimeout(this.#timer)
      this.#heartbeat.stop()
    }
  }

  /** Claims nothing more. */
  stop(): void {
    if (this.#isStopping) return
    this.#stopping.abort()
    this.#timer = setTimeout(() => this.#leaving.abort(), LAST_CLAIM_MS)
  }

  /** Stops without waiting for the pending claim. */
  kill(): void {
    this.#stopping.abort()
    this.#leaving.abort()
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  async #once(): Promise<void> {
    await unlessAborted(this.#stopping.signal, this.#deps.work.hasFree())
    // Handlers that end at the same time share one claim.
    await new Promise<void>(soon)
    const { free } = this.#deps.work
    if (free === 0 || this.#isStopping) return
    try {
      if (await this.#claim(Math.min(free, MAX_TASKS))) this.#earlyResponses = 0
      else await this.#pause(backoff(++this.#earlyResponses, EARLY_PAUSES))
    } catch (error) {
      await this.#failed(error)
    }
  }

  /** False if the server responded early and without tasks. */
  async #claim(max_tasks: number): Promise<boolean> {
    const { types, capabilities, leaseSeconds, pollSeconds, instanceId } = this.#settings
    const sentAt = now()
    const { tasks } = await this.#deps.calls.claim(
      {
        accept_types: types,
        capabilities,
        max_tasks,
        lease_ttl_seconds: leaseSeconds,
        wait_seconds: pollSeconds,
        worker_instance_id: instanceId,
        reclaim: this.#reclaims ? true : undefined,
      },
      this.#leaving.signal,
    )
    this.#isAccepted = true
    // Fewer than requested: there is nothing left to take over.
    if (tasks.length < max_tasks) this.#reclaims = false
    if (this.#failures > 0) this.#deps.onReconnected()
    this.#failures = 0
    const { counts } = this.#deps.metrics
    counts.claims++
    counts.claimed += tasks.length
    const grantedAt = Math.max(sentAt, this.#heartbeat.notBefore)
    const unwanted = tasks.filter((offer) => !this.#begin(offer, grantedAt))
    await Promise.all(unwanted.map((offer) => this.#release(offer)))
    return tasks.length > 0 || now() - sentAt >= EARLY_MS
  }

  #begin(offer: Offer, grantedAt: number): boolean {
    const { calls, work, metrics, log } = this.#deps
    const definition = this.#settings.definitions.get(offer.type)
    if (definition === undefined || this.#isStopping) return false
    const lease = new HeldLease(offer, calls.key(offer), definition, grantedAt)
    if (lease.lost === undefined) work.begin(lease)
    else {
      metrics.ended(offer.type, 'lost')
      log.of(lease).warn({}, 'the lease expired before the claim was read')
    }
    return true
  }

  /** Releases a task that this worker cannot run, or not any more. */
  async #release(offer: Offer): Promise<void> {
    const { task_id, lease_id, type } = offer
    const { calls, metrics, log } = this.#deps
    try {
      await calls.release(calls.key(offer))
      metrics.ended(type, 'released')
    } catch (error) {
      log.warn({ error, task_id, lease_id, type }, 'a task could not be released; its lease will expire')
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#isStopping) return
    this.#deps.metrics.counts.claim_errors++
    if (!this.#isAccepted && isMisconfigured(error)) throw error
    this.#failures++
    const ms = pauseAfter(error, backoff(this.#failures, RETRY_POLL))
    this.#deps.log.warn({ error, retry_in_ms: Math.round(ms) }, 'the claim failed; trying again')
    await this.#pause(ms)
  }

  #pause(ms: number): Promise<void> {
    return pause(ms, this.#stopping.signal)
  }
}

/** A wrong key, a wrong URL or a worker name that the server does not accept. */
function isMisconfigured(error: unknown): boolean {
  return error instanceof GateError && !error.retryable && error.status < 500
}

/** Settles as the promise does, or rejects when the signal is aborted. */
async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  signal.throwIfAborted()
  let abort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
