import type { ElicitResult, Progress } from '@modelcontextprotocol/client'
import type { Fault } from '../../core/errors.ts'
import { deferred } from '../../util/abort.ts'
import type { CallOptions } from '../upstreams/call-options.ts'
import { type Elicitation, type InputRequired, UnaskableError } from '../upstreams/elicitation.ts'
import type { HeldCall } from './held-call.ts'
import type { Answer } from './read-answers.ts'

export type Outcome = Answer | InputRequired | Fault

/** A question of the upstream that waits for its answer. */
interface Asked {
  readonly elicitation: Elicitation
  answer(result: ElicitResult): void
  refuse(problem: string): void
}

/** What happens next in a call: the upstream asks a question, or the call ends. */
export type Step = { readonly elicitation: Elicitation } | { readonly outcome: Outcome }

/** Questions of one call that wait at the same time. They are asked one after the other. */
const MAX_ASKED = 8

type Hooks = Required<Pick<CallOptions, 'signal' | 'onSend' | 'onProgress' | 'elicit'>>

/**
 * A call that is running at its upstream. While the upstream waits for an answer, the call stays open and the gateway has
 * no lease, so one call can need several leases.
 */
export class OpenCall {
  readonly #controller = new AbortController()
  readonly #asked: Asked[] = []
  #outcome: Outcome | undefined
  #changed = deferred<void>()
  #lease: HeldCall | undefined
  #onProgress: (progress: Progress) => void = () => {}
  #isSent = false
  /** Called when the call ends or its first question is withdrawn. */
  onChange: () => void = () => {}

  #begin: ((hooks: Hooks) => Promise<Outcome>) | undefined

  /** `begin` makes the call when the first lease is attached. It never rejects. */
  constructor(begin: (hooks: Hooks) => Promise<Outcome>) {
    this.#begin = begin
  }

  /** The call continues under this lease: if the lease is abandoned, so is the call. */
  attach(lease: HeldCall, onProgress: (progress: Progress) => void): void {
    this.#lease = lease
    this.#onProgress = onProgress
    if (this.#isSent) lease.sent()
    if (lease.signal.aborted) this.abort(lease.signal.reason)
    else lease.signal.addEventListener('abort', () => this.#onLost(lease), { once: true })
    this.#start()
  }

  detach(lease: HeldCall): void {
    if (this.#lease !== lease) return
    this.#lease = undefined
    this.#onProgress = () => {}
  }

  /** Resolves when the upstream asks something, or when the call has ended. */
  async next(): Promise<Step> {
    for (;;) {
      if (this.#outcome !== undefined) return { outcome: this.#outcome }
      const [first] = this.#asked
      if (first !== undefined) return { elicitation: first.elicitation }
      this.#changed = deferred()
      await this.#changed.promise
    }
  }

  /** Whether the first question is still the given one, and the call has not ended. */
  isWaitingFor(elicitation: Elicitation): boolean {
    return this.#outcome === undefined && this.#asked[0]?.elicitation === elicitation
  }

  /** Answers the question if the upstream still waits for it. */
  answer(elicitation: Elicitation, result: ElicitResult): void {
    if (this.isWaitingFor(elicitation)) this.#asked.shift()?.answer(result)
  }

  /** Tells the upstream why its first question cannot be asked. */
  refuse(problem: string): void {
    this.#asked.shift()?.refuse(problem)
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  #start(): void {
    const begin = this.#begin
    this.#begin = undefined
    void begin?.({
      signal: this.#controller.signal,
      onSend: () => {
        this.#isSent = true
        this.#lease?.sent()
      },
      onProgress: (progress) => this.#onProgress(progress),
      elicit: (elicitation, signal) => this.#elicit(elicitation, signal),
    }).then((outcome) => {
      this.#outcome = outcome
      this.#change()
    })
  }

  #onLost(lease: HeldCall): void {
    if (this.#lease === lease) this.abort(lease.signal.reason)
  }

  #elicit(elicitation: Elicitation, signal: AbortSignal): Promise<ElicitResult> {
    if (this.#asked.length >= MAX_ASKED) {
      return Promise.reject(new UnaskableError(`limit of ${MAX_ASKED} unanswered requests per call reached`))
    }
    return new Promise((resolve, reject) => {
      const refuse = (problem: string) => reject(new UnaskableError(problem))
      const asked = { elicitation, answer: resolve, refuse }
      this.#asked.push(asked)
      signal.addEventListener('abort', () => this.#withdrawn(asked), { once: true })
      if (this.#asked.length === 1) this.#change()
    })
  }

  #withdrawn(asked: Asked): void {
    const at = this.#asked.indexOf(asked)
    if (at < 0) return
    this.#asked.splice(at, 1)
    asked.refuse('the request was withdrawn')
    if (at === 0) this.#change()
  }

  #change(): void {
    this.#changed.resolve()
    this.onChange()
  }
}
