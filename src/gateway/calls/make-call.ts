import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import { COMMON_SESSION_LANE, readToolCall, type ToolCall } from '../../features/sessions/tool-calls.ts'
import type { CallOptions, CallSession } from '../upstreams/call-options.ts'
import { type Elicitation, InputRequired } from '../upstreams/elicitation.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { AskedCalls, Continuation } from './asked-calls.ts'
import { type Failure, failureOf, heldBackFor, Patience, pauseOf, stopFailure } from './call-failure.ts'
import { HeldCall } from './held-call.ts'
import { OpenCall, type Outcome } from './open-call.ts'
import { ProgressReports } from './progress-reports.ts'
import type { Answer } from './read-answers.ts'

export interface MakerDeps {
  readonly gate: Gate
  readonly tenant: number
  readonly caller: Caller
  readonly upstreams: Pick<Upstreams, 'call' | 'mayRepeat' | 'timeoutMs'>
  readonly asked: AskedCalls
  /** How long a question of an upstream waits for its answer. */
  readonly questionMs: number
  /** A call is released because another server has to continue it. */
  elsewhere(taskId: string): void
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
    const next = await this.#deps.asked.continuation(granted)
    if (next.kind === 'elsewhere') return this.#toOther(held)
    if (next.kind === 'ask') return this.#required(held, granted, call, next.elicitation)
    const outcome = await this.#outcome(call, granted, held, next)
    if (outcome === undefined) return
    held.answered()
    if (held.reason === 'ended') await this.#stopped(held)
    // Another worker has the task now, so the outcome is discarded.
    else if (held.reason === 'lost') return
    else if (outcome instanceof InputRequired) await this.#requires(held, granted, call, outcome)
    // A response that arrived while the call was being abandoned counts, because the call would be repeated otherwise.
    else if (!(outcome instanceof Fault)) await this.#complete(held, granted, call, outcome)
    else if (held.reason === undefined) await this.#failed(held, granted, call, outcome)
    else if (held.isSent)
      await this.#fail(held, stopFailure(call, this.#mayRepeat(call)), { retry_after_seconds: 0 })
    else await this.#release(held)
  }

  /** The outcome of the call; undefined if the task is parked until a question of the upstream is answered. */
  async #outcome(
    call: ToolCall,
    granted: GrantedCall,
    held: HeldCall,
    next: Continuation,
  ): Promise<Outcome | undefined> {
    const { gate, caller } = this.#deps
    if (next.kind === 'declined') {
      return new Fault('UPSTREAM_REFUSED', { upstream: call.upstream, problem: DECLINED })
    }
    const open = next.kind === 'open' ? next.call : this.#begin(call, granted, next)
    const progress = new ProgressReports((report) =>
      gate.reportProgress(caller, { ...held.key, progress: report }),
    )
    try {
      for (let isAsked = next.kind === 'open'; ; isAsked = false) {
        open.attach(held, progress.heard)
        if (isAsked && next.kind === 'open' && next.answer) open.answer(next.asked, next.answer)
        const step = await open.next()
        if ('outcome' in step) return step.outcome
        open.detach(held)
        if (await this.#parked(held, granted, call, open, step.elicitation)) return undefined
      }
    } finally {
      open.detach(held)
      await progress.end()
    }
  }

  /** Starts a call, which can outlive the lease. */
  #begin(call: ToolCall, granted: GrantedCall, next: Continuation): OpenCall {
    return new OpenCall(async (hooks) => {
      let repetition = next.kind === 'repeat' ? next.repetition : undefined
      // The holder of an expired lease may have sent the call.
      let mayHaveRun = granted.task.expiry_count > 0 || next.kind === 'lost'
      for (let rounds = 1; ; rounds++) {
        const options = { ...hooks, mayHaveRun, repetition, session: this.#sessionOf(granted) }
        const outcome = await this.#send(call, granted, options)
        if (!(outcome instanceof InputRequired) || outcome.requests.length > 0) return outcome
        // The upstream is busy: it wants the same call again, with its state.
        if (rounds === MAX_ROUNDS) {
          return new Fault('UPSTREAM_REFUSED', { upstream: call.upstream, problem: TOO_MANY_ROUNDS })
        }
        const { requestState } = outcome
        repetition = { ...(requestState !== undefined && { requestState }) }
        mayHaveRun = false
        await pause(ROUND_MS, undefined, { signal: hooks.signal }).catch(() => {})
      }
    })
  }

  async #send(call: ToolCall, { task }: GrantedCall, options: CallOptions): Promise<Outcome> {
    const { upstreams } = this.#deps
    if (options.mayHaveRun && task.attempt + task.expiry_count >= task.max_attempts) {
      return new Fault('UPSTREAM_OUTCOME_UNKNOWN', {
        upstream: call.upstream,
        tool: call.tool,
        problem: LOST,
      })
    }
    try {
      return await upstreams.call(call.upstream, call.tool, call.arguments, options)
    } catch (error) {
      if (error instanceof Fault) return error
      if (!options.signal?.aborted) this.#deps.report(error)
      return new Fault('INTERNAL_ERROR')
    }
  }

  /** Parks the task of an open call until the question is answered. False if the question is refused. */
  async #parked(
    held: HeldCall,
    { task }: GrantedCall,
    call: ToolCall,
    open: OpenCall,
    elicitation: Elicitation,
  ): Promise<boolean> {
    const { asked } = this.#deps
    const { task_id } = held.key
    if (asked.isFull) {
      open.refuse('too many calls wait for answers')
      return false
    }
    // Before the task is parked, because the answer can arrive as soon as it is.
    await asked.waits(task_id, { call: open, asked: elicitation, attempt: task.attempt })
    const answer = await this.#ask(held, call, elicitation)
    if (answer === 'parked') {
      await asked.parked(task_id)
      return true
    }
    asked.continues(task_id)
    if (answer === 'lost') open.abort(new Error('The lease was lost.'))
    else open.refuse(answer.message)
    return answer === 'lost'
  }

  /** The call has to be repeated with answers to these questions. */
  async #requires(
    held: HeldCall,
    granted: GrantedCall,
    call: ToolCall,
    outcome: InputRequired,
  ): Promise<void> {
    const [first] = outcome.requests
    if (first === undefined) return
    await this.#deps.asked.requires(held.key.task_id, granted.task.question_count + 1, outcome)
    await this.#required(held, granted, call, first.elicitation)
  }

  async #required(
    held: HeldCall,
    granted: GrantedCall,
    call: ToolCall,
    elicitation: Elicitation,
  ): Promise<void> {
    const answer = await this.#ask(held, call, elicitation)
    if (!(answer instanceof Fault)) return
    const problem = `the upstream requires input that cannot be asked for: ${answer.message}`
    await this.#failed(
      held,
      granted,
      call,
      new Fault('UPSTREAM_REFUSED', { upstream: call.upstream, problem }),
    )
  }

  /** Parks the task. Resolves with the fault if the question is refused. */
  async #ask(held: HeldCall, { upstream }: ToolCall, asked: Elicitation): Promise<'parked' | 'lost' | Fault> {
    const { gate, caller, questionMs } = this.#deps
    const question = { upstream, ...asked }
    held.asks(true)
    try {
      const ask = () => gate.toolCalls.ask(caller.tenant, held.key, question, questionMs)
      return (await this.#reported(held, ask)) ? 'parked' : 'lost'
    } catch (error) {
      held.asks(false)
      if (error instanceof Fault) return error
      throw error
    }
  }

  async #toOther(held: HeldCall): Promise<void> {
    const { gate, tenant, elsewhere, report } = this.#deps
    elsewhere(held.key.task_id)
    await gate.toolCalls.release(tenant, held.key, OTHER_MS).catch(report)
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

  /** Repeats the report while the lease lasts. Resolves with whether it was made. Rejects with permanent faults. */
  async #reported(held: HeldCall, say: () => Promise<unknown>): Promise<boolean> {
    for (let pauseMs = 50; ; pauseMs = Math.min(2000, pauseMs * 2)) {
      try {
        await say()
        return true
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        if (error.code === 'LEASE_INVALID_OR_EXPIRED' || error.code === 'TASK_NOT_FOUND') return false
        if (!PASSING.has(error.code)) throw error
        if (held.reason !== undefined) return false
      }
      await pause(pauseMs)
    }
  }
}

const DECLINED = 'the page that the upstream requires to be opened was declined'

/** How often a call is repeated because its upstream is busy, and the pause between two rounds. */
const MAX_ROUNDS = 10
const ROUND_MS = 1000
const TOO_MANY_ROUNDS = `the upstream has not completed the call in ${MAX_ROUNDS} rounds`

/** How long a call is released for the server at which it is open. */
const OTHER_MS = 2000

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
