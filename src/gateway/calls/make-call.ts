import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import { COMMON_SEAT, readToolCall, type ToolCall } from '../../features/sessions/tool-calls.ts'
import type { CallSession } from '../upstreams/connection.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { type Failure, failureOf, heldBackFor, Patience, pauseOf, stopFailure } from './call-failure.ts'
import { HeldCall } from './held-call.ts'
import { ProgressReports } from './progress-reports.ts'
import type { Answer } from './read-answers.ts'

export interface MakerParts {
  readonly gate: Gate
  readonly tenant: number
  /** As the gate knows the gateway. */
  readonly caller: Caller
  readonly upstreams: Pick<Upstreams, 'call' | 'mayRepeat' | 'timeoutMs'>
  /** Whether a session goes on, so that more calls of it may come. */
  isLive(sessionId: string): boolean
  report(error: unknown): void
}

/** Faults of the gate that pass; what was to be reported is reported again. */
const PASSING: ReadonlySet<string> = new Set(['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'OVERLOADED'])

/** Makes calls of upstreams' tools, and reports what came of them. */
export class CallMaker {
  readonly #parts: MakerParts
  readonly #held = new Set<HeldCall>()
  readonly #patience = new Patience()
  #isStopped = false

  constructor(parts: MakerParts) {
    this.#parts = parts
  }

  get making(): number {
    return this.#held.size
  }

  /** Never rejects. */
  async make(granted: GrantedCall): Promise<void> {
    const held = new HeldCall(this.#parts, granted)
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

  /** Gives up all calls, also those that are yet to come. Those that were not sent are as if they had not been begun. */
  stop(): void {
    this.#isStopped = true
    for (const held of this.#held) held.giveUp('stopping')
  }

  async #make(granted: GrantedCall, held: HeldCall): Promise<void> {
    const call = readToolCall(granted.offer.payload)
    const outcome = await this.#call(call, granted, held)
    held.answered()
    if (held.reason === 'ended') await this.#stopped(held)
    // The task is somebody else's by now: whatever came of the call is nobody's.
    else if (held.reason === 'lost') return
    // An answer that came while the call was being given up counts: it would otherwise be made again.
    else if (!(outcome instanceof Fault)) await this.#complete(held, granted, call, outcome)
    else if (held.reason === undefined) await this.#failed(held, granted, call, outcome)
    else if (held.isSent)
      await this.#fail(held, stopFailure(call, this.#mayRepeat(call)), { retry_after_seconds: 0 })
    else await this.#release(held)
  }

  async #call(call: ToolCall, granted: GrantedCall, held: HeldCall): Promise<Answer | Fault> {
    const { gate, caller, upstreams } = this.#parts
    const { task } = granted
    // A lease that ended without a word from its holder may have been that of a call that was sent.
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
      if (held.reason === undefined) this.#parts.report(error)
      return new Fault('INTERNAL_ERROR')
    } finally {
      await progress.end()
    }
  }

  /** A call that has the common seat was created over REST, whatever session it names. */
  #sessionOf({ seat, offer }: GrantedCall): CallSession | undefined {
    const { session_id: id } = offer
    if (seat === COMMON_SEAT || id === null) return undefined
    return { id, isLive: () => this.#parts.isLive(id) }
  }

  /** What the tool answered is the result, also if it says that the tool has failed: that is not ours to repeat. */
  async #complete(held: HeldCall, granted: GrantedCall, call: ToolCall, result: Answer): Promise<void> {
    const { gate, caller } = this.#parts
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

  /** A call whose upstream will be connected again waits for that, as long as it could take, and spends no attempt. */
  async #waits({ key }: HeldCall, { upstream }: ToolCall, fault: Fault): Promise<boolean> {
    const { gate, tenant, upstreams } = this.#parts
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
    const { gate, caller } = this.#parts
    const report = { ...held.key, error: fault.toJSON(), retryable, ...when }
    if (!retryable) this.#patience.end(held.key.task_id)
    await this.#reported(held, () => gate.fail(caller, report))
  }

  #mayRepeat({ upstream, tool }: ToolCall): boolean {
    return this.#parts.upstreams.mayRepeat(upstream, tool)
  }

  /** Something is wrong with the task, or with us: without a word its lease would have to lapse first. */
  async #giveBack(held: HeldCall, error: unknown): Promise<void> {
    const { gate, caller, report } = this.#parts
    const isFault = error instanceof Fault
    if (!isFault) report(error)
    const fault = isFault ? error : new Fault('INTERNAL_ERROR')
    const failure = { ...held.key, error: fault.toJSON(), retryable: fault.retryable && !held.isSent }
    await gate.fail(caller, failure).catch(report)
  }

  async #release(held: HeldCall): Promise<void> {
    const { gate, tenant, report } = this.#parts
    await gate.toolCalls.release(tenant, held.key).catch(report)
  }

  /** If it was canceled, whoever did so sees that it has stopped. */
  async #stopped(held: HeldCall): Promise<void> {
    const { gate, caller } = this.#parts
    this.#patience.end(held.key.task_id)
    await gate.reportCancel(caller, { ...held.key, stage: 'stopped' }).catch(() => {})
  }

  /** Says it as often as it takes while the lease lasts. Rejects with what will not pass. */
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

const LOST =
  'the processes that made the call ended before its answer was recorded, as often as it may be made'

/** Why a result that came cannot be kept. */
function unkeepable(error: Fault, upstream: string): Fault {
  if (error.code === 'PAYLOAD_TOO_LARGE') {
    const { limit_bytes } = error.details
    return new Fault(
      'UPSTREAM_RESULT_TOO_LARGE',
      { upstream, limit_bytes, settings: ['ASYNCGATE_RESULTS_CHANNEL', 'ASYNCGATE_RESULT_MAX_BYTES'] },
      'The answer of the upstream is larger than a task can keep, and there is no result channel that takes it.',
    )
  }
  const { problem, path } = error.details
  return new Fault('UPSTREAM_REFUSED', { upstream, problem: problem ?? error.message, path })
}
