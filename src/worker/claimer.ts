import type { Offer } from '../client/operations.ts'
import { backoff, GateError, pause, RETRY_POLL } from '../client/transport.ts'
import type { Calls } from './calls.ts'
import { now, Pulse, soon } from './clock.ts'
import { HeldLease } from './lease.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Settings } from './options.ts'
import type { Work } from './work.ts'

/** The most that a server hands out at once. */
const MAX_TASKS = 100

/** A claim that is under way when the worker stops has this long to be answered: what it took is given back. */
const LAST_CLAIM_MS = 250

/** An empty answer long before its time comes from a server that stops. */
const EARLY_MS = 500
const EARLY_PAUSES = { firstMs: 100, maxMs: 5000 }

const BEAT_MS = { least: 50, most: 500 }

/** Takes as much work as there are free hands, and waits for more. */
export class Claimer {
  readonly #settings: Settings
  readonly #calls: Calls
  readonly #work: Work
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #pulse = new Pulse()
  readonly #stopping = new AbortController()
  /** Aborts a little later: what was asked for may be under way. */
  readonly #leaving = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isKnown = false
  /** Until all that an earlier process held has been taken over. */
  #reclaims: boolean
  #failures = 0
  #earlies = 0

  constructor(settings: Settings, parts: { calls: Calls; work: Work; log: WorkerLog; metrics: Metrics }) {
    this.#settings = settings
    this.#reclaims = settings.reclaim
    this.#calls = parts.calls
    this.#work = parts.work
    this.#log = parts.log
    this.#metrics = parts.metrics
  }

  /** Until it is stopped. Rejects if the very first claim is refused: then nothing will help but another set-up. */
  async run(): Promise<void> {
    const { leaseSeconds } = this.#settings
    const beatMs = leaseSeconds === undefined ? BEAT_MS.most : (leaseSeconds * 1000) / 20
    this.#pulse.start(Math.min(Math.max(beatMs, BEAT_MS.least), BEAT_MS.most))
    try {
      while (!this.#isStopping) await this.#once()
    } catch (error) {
      if (!this.#isStopping) throw error
    } finally {
      clearTimeout(this.#timer)
      this.#pulse.stop()
    }
  }

  /** Takes nothing more. */
  stop(): void {
    if (this.#isStopping) return
    this.#stopping.abort()
    this.#timer = setTimeout(() => this.#leaving.abort(), LAST_CLAIM_MS)
  }

  /** Does not wait for the last answer either. */
  kill(): void {
    this.#stopping.abort()
    this.#leaving.abort()
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  async #once(): Promise<void> {
    await unless(this.#stopping.signal, this.#work.hasFree())
    // Handlers that end in the same moment make room for one claim, and not for one each.
    await new Promise<void>(soon)
    const { free } = this.#work
    if (free === 0 || this.#isStopping) return
    try {
      if (await this.#claim(Math.min(free, MAX_TASKS))) this.#earlies = 0
      else await this.#pause(backoff(++this.#earlies, EARLY_PAUSES))
    } catch (error) {
      await this.#failed(error)
    }
  }

  /** False if there was nothing, and the server did not even wait. */
  async #claim(max_tasks: number): Promise<boolean> {
    const { types, capabilities, leaseSeconds, pollSeconds, instanceId } = this.#settings
    const sentAt = now()
    const { tasks } = await this.#calls.claim(
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
    this.#isKnown = true
    // Fewer than there was room for: nothing is left to be taken over.
    if (tasks.length < max_tasks) this.#reclaims = false
    this.#failures = 0
    this.#metrics.claimAnswered(tasks.length)
    const grantedAt = Math.max(sentAt, this.#pulse.absentAt)
    const unwanted = tasks.filter((offer) => !this.#begin(offer, grantedAt))
    await Promise.all(unwanted.map((offer) => this.#return(offer)))
    return tasks.length > 0 || now() - sentAt >= EARLY_MS
  }

  #begin(offer: Offer, grantedAt: number): boolean {
    const definition = this.#settings.definitions.get(offer.type)
    if (definition === undefined || this.#isStopping) return false
    const lease = new HeldLease(offer, this.#calls.key(offer), definition, grantedAt)
    if (lease.lost === undefined) this.#work.begin(lease)
    else {
      this.#metrics.ended(offer.type, 'lost')
      this.#log.of(lease).warn({}, 'the lease was over before its offer was read')
    }
    return true
  }

  /** Nobody here can do it, or not any more. */
  async #return(offer: Offer): Promise<void> {
    const { task_id, lease_id, type } = offer
    try {
      await this.#calls.release(this.#calls.key(offer))
      this.#metrics.ended(type, 'released')
    } catch (error) {
      this.#log.warn(
        { error, task_id, lease_id, type },
        'a task could not be given back; its lease will lapse',
      )
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#isStopping) return
    this.#metrics.claimFailed()
    if (!this.#isKnown && isMistake(error)) throw error
    this.#failures++
    const atLeastMs = (error instanceof GateError ? error.retryAfterMs : undefined) ?? 0
    const ms = Math.max(backoff(this.#failures, RETRY_POLL), atLeastMs)
    this.#log.warn({ error, retry_in_ms: Math.round(ms) }, 'no work could be claimed; trying again')
    await this.#pause(ms)
  }

  #pause(ms: number): Promise<void> {
    return pause(ms, this.#stopping.signal)
  }
}

/** A wrong key, a wrong address, a name that the server does not take. */
function isMistake(error: unknown): boolean {
  return error instanceof GateError && !error.retryable && error.status < 500
}

/** The promise, or a rejection as soon as the signal aborts. */
async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
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
