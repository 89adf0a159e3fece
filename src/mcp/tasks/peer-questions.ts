import { ProtocolError } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import type { Call } from '../tools/tool.ts'
import type { ClientPeer, PeerResponse } from '../transport/peer.ts'
import { clientQuestion, keyOf, leavesOpen, refusalOf, respond, viewerOf } from './client-questions.ts'
import type { Decisions } from './decisions.ts'
import { responseOf } from './questions.ts'

/** A call is held for this long while its user is asked. The question stays open after that. */
const MAX_ASK_MS = 600_000

/** An answer that is refused is asked for again, with the problem, up to this number of times in all. */
const MAX_ATTEMPTS = 5

interface PeerQuestionDeps {
  readonly gate: Gate
  readonly decisions: Decisions
  /** Answers the open question of a task, as tasks/update does. */
  readonly update: (taskId: string, responses: Fields, call: Call) => Promise<void>
  readonly onError: (error: unknown) => void
}

/**
 * Asks the users of legacy clients during their calls. The stored question is the authority: the call continues when it
 * is decided, by whichever caller, and a response of the client is an answer like any other.
 */
export class PeerQuestions {
  readonly #deps: PeerQuestionDeps

  constructor(deps: PeerQuestionDeps) {
    this.#deps = deps
  }

  /**
   * Resolves with the task once its question is decided; with undefined if the client cannot ask, if its user does not
   * want to answer now, or if the time is over. `meta` is the `_meta` of the request to the client.
   */
  async ask(caller: Caller, task: TaskView, call: Call, meta?: Fields): Promise<TaskView | undefined> {
    const { gate, decisions } = this.#deps
    const { peer } = call
    const question = peer && clientQuestion(task, viewerOf(call, caller), gate.links)
    if (peer === undefined || question === undefined) return undefined
    const ending = new AbortController()
    const signal = AbortSignal.any([call.signal, ending.signal, AbortSignal.timeout(MAX_ASK_MS)])
    try {
      const deciding = decisions.wait(caller, task.task_id, question.n, signal)
      const showing = this.#show(caller, task, { ...call, signal }, peer, meta)
      const decided = await Promise.race([
        deciding,
        showing.then((goesOn) => (goesOn ? deciding : undefined)),
      ])
      const { params } = question.request
      if (decided !== undefined && params.mode === 'url')
        peer.notify('notifications/elicitation/complete', { elicitationId: params.elicitationId })
      return decided
    } finally {
      // A question that is decided elsewhere is withdrawn from the client.
      ending.abort()
    }
  }

  /** Resolves with whether the call waits for the decision. */
  async #show(
    caller: Caller,
    task: TaskView,
    call: Call,
    peer: ClientPeer,
    meta: Fields | undefined,
  ): Promise<boolean> {
    const { gate, onError } = this.#deps
    const { task_id } = task
    let problem: string | undefined
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const question = clientQuestion(task, viewerOf(call, caller), gate.links, problem)
      if (question === undefined) return false
      const { method, params } = question.request
      const id = requestIdOf(task_id, question.n, attempt)
      const sent = { ...params, ...(meta && { _meta: meta }) }
      const asking = peer.request(method, sent, { id, signal: call.signal })
      // The client may refuse to ask, or disconnect.
      const response = responseOf(await asking.catch(() => undefined))
      if (response === undefined) return false
      if (question.answer.by === 'page') return response.action === 'accept'
      if (leavesOpen(question, response)) return false
      problem = await refusalOf(respond(gate, caller, call, task_id, question, response), onError)
      if (problem === undefined) return true
    }
    return false
  }

  /** Applies a response for which nothing waits on this server: another one asked, or this one before a restart. */
  async late(response: PeerResponse, call: Call): Promise<void> {
    const [, taskId, n] = REQUEST_ID.exec(response.id) ?? []
    if (taskId === undefined || !('result' in response)) return
    try {
      await this.#deps.update(taskId, { [keyOf(Number(n))]: response.result }, call)
    } catch (error) {
      // The task may belong to another caller, or the answer may be invalid: the question stays open.
      if (!(error instanceof ProtocolError)) throw error
    }
  }
}

const REQUEST_ID = /^question:([0-9a-f-]{36}):(\d{1,3})(?::\d)?$/

/** Any server recognizes the response by this id. */
function requestIdOf(task_id: string, n: number, attempt: number): string {
  return `question:${task_id}:${n}${attempt === 1 ? '' : `:${attempt}`}`
}
