import { setTimeout as pause } from 'node:timers/promises'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../gate/gate.ts'
import type { GrantedCall } from '../gate/tool-call-desk.ts'
import { COMMON_SEAT, readToolCall, type ToolCall } from '../gate/tool-calls.ts'
import { HeldCall } from './held-call.ts'
import { ProgressReports } from './progress-reports.ts'
import type { CallSession } from './session-connections.ts'
import type { Upstreams } from './upstreams.ts'

export interface MakerParts {
  readonly gate: Gate
  readonly tenant: number
  /** As the gate knows the gateway. */
  readonly caller: Caller
  readonly upstreams: Pick<Upstreams, 'call' | 'offered'>
  /** Whether a session goes on, so that more calls of it may come. */
  isLive(sessionId: string): boolean
  report(error: unknown): void
}

/** Pauses double up to this one, whatever the task says. */
const MAX_PAUSE_MS = 30_000
/** An upstream may ask for a longer one, within reason. */
const MAX_ASKED_MS = 3_600_000

/** Faults of the gate that pass; what was to be reported is reported again. */
const PASSING: ReadonlySet<string> = new Set(['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'OVERLOADED'])

/** Makes calls of upstreams' tools, and reports what came of them. */
export class CallMaker {
  readonly #parts: MakerParts
  readonly #held = new Set<HeldCall>()
  #isStopped = false

  constructor(parts: MakerParts) {
    this.#parts = parts
  }

  get making(): number {
    return this.#held.size
  }

  /** Never rejects. */
  async make(granted: GrantedCall): Promise<void> {
    try {
      await this.#make(granted)
    } catch (error) {
      await this.#giveBack(granted, error)
    }
  }

  /** Gives up all calls, also those that are yet to come: they are then as if they had not been begun. */
  stop(): void {
    this.#isStopped = true
    for (const held of this.#held) held.giveUp('stopping')
  }

  async #make(granted: GrantedCall): Promise<void> {
    const call = readToolCall(granted.offer.payload)
    const held = new HeldCall(this.#parts, granted)
    this.#held.add(held)
    if (this.#isStopped) held.giveUp('stopping')
    try {
      const outcome = await this.#call(call, granted, held)
      held.answered()
      if (held.reason === 'stopping' || held.reason === 'waited') await this.#release(held)
      else if (held.reason === 'ended') await this.#stopped(held)
      // The task is somebody else's by now: whatever came of the call is nobody's.
      else if (held.reason !== undefined) return
      else if (outcome instanceof Fault) await this.#fail(held, granted, call, outcome)
      else await this.#complete(held, granted, call, outcome)
    } finally {
      this.#held.delete(held)
      held.close()
    }
  }

  async #call(call: ToolCall, granted: GrantedCall, held: HeldCall): Promise<CallToolResult | Fault> {
    const { gate, caller, upstreams } = this.#parts
    const progress = new ProgressReports((report) => gate.progress(caller, { ...held.key, progress: report }))
    try {
      const options = {
        signal: held.signal,
        onProgress: progress.heard,
        onTurn: () => held.begun(),
        session: this.#sessionOf(granted),
      }
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
  async #complete(
    held: HeldCall,
    granted: GrantedCall,
    call: ToolCall,
    result: CallToolResult,
  ): Promise<void> {
    const { gate, caller } = this.#parts
    const artifacts = [{ type: 'inline', url: `inline://task/${held.key.task_id}/result` }]
    try {
      await this.#reported(held, () => gate.complete(caller, { ...held.key, result, artifacts }))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await this.#fail(held, granted, call, unkeepable(error, call.upstream))
    }
  }

  async #fail(held: HeldCall, { task }: GrantedCall, call: ToolCall, fault: Fault): Promise<void> {
    const { gate, caller } = this.#parts
    const report = {
      ...held.key,
      error: fault.toJSON(),
      retryable: this.#mayRetry(fault, call),
      ...pauseOf(fault, task.retry_backoff_seconds, task.attempt),
    }
    await this.#reported(held, () => gate.fail(caller, report))
  }

  /**
   * A call that was refused, or could not reach its upstream, or whose connection broke, is made again. One that was
   * not answered in time may still be at work: it is made again only if its tool says that this does no harm.
   */
  #mayRetry(fault: Fault, { upstream, tool }: ToolCall): boolean {
    if (fault.code !== 'UPSTREAM_TIMEOUT') return fault.retryable
    try {
      const { annotations = {} } = this.#parts.upstreams.offered(upstream, tool)
      return annotations.readOnlyHint === true || annotations.idempotentHint === true
    } catch {
      return false
    }
  }

  /** Something is wrong with the task, or with us: without a word its lease would have to lapse first. */
  async #giveBack({ offer }: GrantedCall, error: unknown): Promise<void> {
    const { gate, caller, report } = this.#parts
    const isFault = error instanceof Fault
    if (!isFault) report(error)
    const { task_id, lease_id } = offer
    const fault = isFault ? error : new Fault('INTERNAL_ERROR')
    await gate
      .fail(caller, {
        task_id,
        lease_id,
        worker_id: gate.toolCalls.workerId,
        error: fault.toJSON(),
        retryable: fault.retryable,
      })
      .catch(report)
  }

  async #release(held: HeldCall): Promise<void> {
    const { gate, caller, report } = this.#parts
    await gate.release(caller, held.key).catch(report)
  }

  /** If it was canceled, whoever did so sees that it has stopped. */
  async #stopped(held: HeldCall): Promise<void> {
    const { gate, caller } = this.#parts
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

/** When to try again: not before the upstream says, and never after a longer pause than is sensible. */
function pauseOf(fault: Fault, baseSeconds: number, attempt: number): { retry_after_seconds?: number } {
  const { retry_after_ms } = fault.details
  const usual = baseSeconds * 1000 * 2 ** Math.min(attempt, 30)
  const asked = typeof retry_after_ms === 'number' ? Math.min(retry_after_ms, MAX_ASKED_MS) : 0
  if (asked <= usual && usual <= MAX_PAUSE_MS) return {}
  return { retry_after_seconds: Math.ceil(Math.max(asked, Math.min(usual, MAX_PAUSE_MS)) / 1000) }
}
