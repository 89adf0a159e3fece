import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import { COMMON_SESSION_LANE, readToolCall, type ToolCall } from '../../features/sessions/tool-calls.ts'
import type { CallSession } from '../upstreams/connection.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { type Failure, failureOf, heldBackFor, Patience, pauseOf, stopFailure } from './call-failure.ts'
import { HeldCall } from './held-call.ts'
import { ProgressReports } from './progress-reports.ts'
import type { Answer } from './read-answers.ts'

export interface MakerDeps {
  readonly gate: Gate
  readonly tenant: number
  readonly caller: Caller
  readonly upstreams: Pick<Upstreams, 'call' | 'mayRepeat' | 'timeoutMs'>
  /** Whether the session can make more calls. */
  isLive(sessionId: string): boolean
  report(error: unknown): void
}

/** Temporary faults: the report is sent again. */
const PASSING: ReadonlySet<string> = new Set(['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'OVERLOADED'])

/** Makes the calls of upstream tools and reports their outcomes. */
export class CallMaker {
  readonly #deps: MakerDeps
  readonly #held = new Set<HeldCall>()
  readonly #patience = new Patience()
  #isStopped = false

  constructor(deps: MakerDeps) {
    this.#deps = deps
  }

  get making(): number {
    return this.#held.size
  }

  /** Never rejects. */
  async make(granted: GrantedCall): Promise<void> {
    const held = new HeldCall(this.#deps, granted)
    this.#held.add(held)
    if (this.#isStopped) held.giveUp('stopping')
    try {
      await this.#make(granted, held)
    } catch (error) {
      await this.#giveBack(held, error)
    } finally {
      this.#held.delete(held)
      held.close()
    }
  }

  /** Abandons all calls, including those that start later. Calls that were not sent are released. */
  stop(): void {
    this.#isStopped = true
    for (const held of this.#held) held.giveUp('stopping')
  }

  async #make(granted: GrantedCall, held: HeldCall): Promise<void> {
    const call = readToolCall(granted.offer.payload)
    const outcome = await this.#call(call, granted, held)
    held.answered()
    if (held.reason === 'ended') await this.#stopped(held)
    // Another worker has the task now, so the outcome is discarded.
    else if (held.reason === 'lost') return
    // A response that arrived while the call was being abandoned counts, because the call would be repeated otherwise.
    else if (!(outcome instanceof Fault)) await this.#complete(held, granted, call, outcome)
    else if (held.reason === undefined) await this.#failed(held, granted, call, outcome)
    else if (held.isSent)
      await this.#fail(held, stopFailure(call, this.#mayRepeat(call)), { retry_after_seconds: 0 })
    else await this.#release(held)
  }

  async #call(call: ToolCall, granted: GrantedCall, held: HeldCall): Promise<Answer | Fault> {
    const { gate, caller, upstreams } = this.#deps
    const { task } = granted
    // The holder of an expired lease may have sent the call.
    const mayHaveRun = task.expiry_count > 0
    if (mayHaveRun && task.attempt + task.expiry_count >= task.max_attempts) {
      return new Fault('UPSTREAM_OUTCOME_UNKNOWN', {
        upstream: call.upstream,
        tool: call.tool,
        problem: LOST,
      })
    }
    const progress = new ProgressReports((report) =>
      gate.reportProgress(caller, { ...held.key, progress: report }),
    )
    const options = {
      signal: held.signal,
      onProgress: progress.heard,
      onSend: () => held.sent(),
      mayHaveRun,
      session: this.#sessionOf(granted),
    }
    try {
      return await upstreams.call(call.upstream, call.tool, call.arguments, options)
    } catch (error) {
      if (error instanceof Fault) return error
      if (held.reason === undefined) this.#deps.report(error)
      return new Fault('INTERNAL_ERROR')
    } finally {
      await progress.end()
    }
  }

  /** A call in the common lane was created over REST, whatever session it names. */
  #sessionOf({ sessionLane, offer }: GrantedCall): CallSession | undefined {
    const { session_id: id } = offer
    if (sessionLane === COMMON_SESSION_LANE || id === null) return undefined
    return { id, isLive: () => this.#deps.isLive(id) }
  }

  /** The response of the tool is the result, even if it reports an error of the tool: AsyncGate does not retry it. */
  async #complete(held: HeldCall, granted: GrantedCall, call: ToolCall, result: Answer): Promise<void> {
    const { gate, caller } = this.#deps
    const artifacts = [{ type: 'inline', url: `inline://task/${held.key.task_id}/result` }]
    this.#patience.end(held.key.task_id)
    try {
      await this.#reported(held, () => gate.complete(caller, { ...held.key, result, artifacts }))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await this.#failed(held, granted, call, unkeepable(error, call.upstream))
    }
  }

  async #failed(held: HeldCall, { task }: GrantedCall, call: ToolCall, fault: Fault): Promise<void> {
    if (await this.#waits(held, call, fault)) return
    const { isSent } = held
    const failure = failureOf({ call, fault, isSent, mayRepeat: () => this.#mayRepeat(call) })
    await this.#fail(held, failure, pauseOf(fault, task.retry_backoff_seconds, task.attempt))
  }

  /** A call whose upstream is about to reconnect is released until then and uses up no attempt. */
  async #waits({ key }: HeldCall, { upstream }: ToolCall, fault: Fault): Promise<boolean> {
    const { gate, tenant, upstreams } = this.#deps
    const pauseMs = heldBackFor(fault)
    const mayWaitMs = upstreams.timeoutMs(upstream) ?? 0
    if (pauseMs === undefined || !this.#patience.lasts(key.task_id, mayWaitMs)) return false
    try {
      await gate.toolCalls.release(tenant, key, pauseMs)
      return true
    } catch (error) {
      if (error instanceof Fault && error.code === 'LEASE_INVALID_OR_EXPIRED') return true
      throw error
    }
  }

  async #fail(
    held: HeldCall,
    { fault, retryable }: Failure,
    when: { readonly retry_after_seconds?: number },
  ): Promise<void> {
    const { gate, caller } = this.#deps
    const report = { ...held.key, error: fault.toJSON(), retryable, ...when }
    if (!retryable) this.#patience.end(held.key.task_id)
    await this.#reported(held, () => gate.fail(caller, report))
  }

  #mayRepeat({ upstream, tool }: ToolCall): boolean {
    return this.#deps.upstreams.mayRepeat(upstream, tool)
  }

  /** Fails the task after an unexpected error, so that it does not have to wait for the lease to expire. */
  async #giveBack(held: HeldCall, error: unknown): Promise<void> {
    const { gate, caller, report } = this.#deps
    const isFault = error instanceof Fault
    if (!isFault) report(error)
    const fault = isFault ? error : new Fault('INTERNAL_ERROR')
    const failure = { ...held.key, error: fault.toJSON(), retryable: fault.retryable && !held.isSent }
    await gate.fail(caller, failure).catch(report)
  }

  async #release(held: HeldCall): Promise<void> {
    const { gate, tenant, report } = this.#deps
    await gate.toolCalls.release(tenant, held.key).catch(report)
  }

  /** Tells the caller who canceled the task that the call has stopped. */
  async #stopped(held: HeldCall): Promise<void> {
    const { gate, caller } = this.#deps
    this.#patience.end(held.key.task_id)
    await gate.reportCancel(caller, { ...held.key, stage: 'stopped' }).catch(() => {})
  }

  /** Repeats the report while the lease lasts. Rejects with permanent faults. */
  async #reported(held: HeldCall, say: () => Promise<unknown>): Promise<void> {
    for (let pauseMs = 50; ; pauseMs = Math.min(2000, pauseMs * 2)) {
      try {
        await say()
        return
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        if (error.code === 'LEASE_INVALID_OR_EXPIRED' || error.code === 'TASK_NOT_FOUND') return
        if (!PASSING.has(error.code)) throw error
        if (held.reason !== undefined) return
      }
      await pause(pauseMs)
    }
  }
}

const LOST = 'the processes that made the call ended before its result was recorded, in every attempt'

/** The fault for a result that cannot be stored. */
function unkeepable(error: Fault, upstream: string): Fault {
  if (error.code === 'PAYLOAD_TOO_LARGE') {
    const { limit_bytes } = error.details
    return new Fault(
      'UPSTREAM_RESULT_TOO_LARGE',
      { upstream, limit_bytes, settings: ['ASYNCGATE_RESULTS_CHANNEL', 'ASYNCGATE_RESULT_MAX_BYTES'] },
      'The response of the upstream is larger than a task can store, and no result channel accepts it.',
    )
  }
  const { problem, path } = error.details
  return new Fault('UPSTREAM_REFUSED', { upstream, problem: problem ?? error.message, path })
}
