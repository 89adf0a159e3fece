import type { ElicitResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { JsonObject } from '../../core/json/json.ts'
import type { Gate } from '../../features/gate.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import type { Entries } from '../../store/entries.ts'
import { isObject } from '../../util/guards.ts'
import type { Elicitation, InputRequired, Repetition } from '../upstreams/elicitation.ts'
import type { OpenCall } from './open-call.ts'

const KIND = 'upstream_question'
/** How often a server confirms that its open calls are open, and when a silent server counts as gone. */
const CONFIRM_MS = 10_000
const SILENT_MS = 35_000
/** How often a server checks whether another one has answered or ended one of its open calls. */
const LOOK_MS = 1_000
const PAGE = 500
/** Open calls of one server that wait for answers. */
const MAX_WAITING = 1000

const elicitation = z.object({
  message: z.string(),
  schema: z.custom<JsonObject>(isObject),
  url: z.string().optional(),
})

/** What is stored about a call whose upstream has asked. No client sees it. */
const stored = z.discriminatedUnion('mode', [
  /** The call is open at a server, and continues there. */
  z.object({ mode: z.literal('open'), instance: z.string(), at: z.number(), attempt: z.int() }),
  /** The call has to be repeated with the answers to the questions from number `first` on. */
  z.object({
    mode: z.literal('repeat'),
    first: z.int(),
    requests: z.array(z.object({ key: z.string(), elicitation })),
    request_state: z.string().nullable(),
    takes_answers: z.boolean(),
  }),
])
type Stored = z.output<typeof stored>

export interface AskedCallsDeps {
  readonly gate: Gate
  readonly tenant: number
  readonly entries: Entries
  /** Whether other servers use the same database. */
  readonly shared: boolean
  /** Calls may be ready to be claimed. */
  look(): void
  report(error: unknown): void
}

/** How a call continues whose upstream has asked. */
export type Continuation =
  /** Not at all: it is a call like any other. */
  | { readonly kind: 'none' }
  /** It is open at this server; the answer is undefined if the question was withdrawn. */
  | {
      readonly kind: 'open'
      readonly call: OpenCall
      readonly asked: Elicitation
      readonly answer: ElicitResult | undefined
    }
  /** It is open at another server, which has to continue it. */
  | { readonly kind: 'elsewhere' }
  /** It was open at a server that is gone, so it may have had its effect. */
  | { readonly kind: 'lost' }
  /** The next question of the same result has to be asked. */
  | { readonly kind: 'ask'; readonly elicitation: Elicitation }
  | { readonly kind: 'repeat'; readonly repetition: Repetition }
  /** An answer that the call cannot do without was refused. */
  | { readonly kind: 'declined' }

interface Waiting {
  readonly call: OpenCall
  readonly asked: Elicitation
  readonly attempt: number
}

/** The calls whose upstreams have asked questions that are not answered yet. */
export class AskedCalls {
  readonly #deps: AskedCallsDeps
  readonly #waiting = new Map<string, Waiting>()
  #timer: NodeJS.Timeout | undefined
  #confirmedAt = 0
  #looking: Promise<void> | undefined

  constructor(deps: AskedCallsDeps) {
    this.#deps = deps
  }

  /** Open calls that wait for answers. */
  get size(): number {
    return this.#waiting.size
  }

  get isFull(): boolean {
    return this.#waiting.size >= MAX_WAITING
  }

  /** An open call is about to be parked until its question is answered. */
  async waits(taskId: string, waiting: Waiting): Promise<void> {
    const { call, asked } = waiting
    await this.#put(taskId, this.#openCall(waiting, Date.now()))
    this.#waiting.set(taskId, waiting)
    call.onChange = () => {
      if (!call.isWaitingFor(asked)) void this.#withdraw(taskId).catch(this.#deps.report)
    }
    if (this.#deps.shared) this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /** The call is parked now. Its upstream may have stopped waiting in the meantime. */
  async parked(taskId: string): Promise<void> {
    const waiting = this.#waiting.get(taskId)
    if (waiting !== undefined && !waiting.call.isWaitingFor(waiting.asked)) await this.#withdraw(taskId)
  }

  /** The call was not parked after all. */
  continues(taskId: string): void {
    this.#forget(taskId)
  }

  /** The questions of a result have to be answered before the call is repeated. */
  async requires(taskId: string, first: number, required: InputRequired): Promise<void> {
    const { requests, requestState, takesAnswers } = required
    await this.#put(taskId, {
      mode: 'repeat',
      first,
      requests: [...requests],
      request_state: requestState ?? null,
      takes_answers: takesAnswers,
    })
  }

  /** How a claimed call continues. Only calls whose upstream has asked cost a read. */
  async continuation({ offer, task }: GrantedCall): Promise<Continuation> {
    const { answers = [], task_id } = offer
    const last = answers.at(-1)
    if (last?.origin !== 'upstream') return { kind: 'none' }
    const waiting = this.#waiting.get(task_id)
    if (waiting !== undefined) {
      this.#forget(task_id)
      return { kind: 'open', ...waiting, answer: resultOf(waiting.asked, last) }
    }
    const known = await this.#get(task_id)
    if (known === undefined) return { kind: 'none' }
    if (known.mode === 'repeat')
      return continuationOf(
        known,
        answers.filter(({ n }) => n >= known.first),
      )
    if (known.attempt !== task.attempt) return { kind: 'none' }
    return { kind: this.#isAlive(known) ? 'elsewhere' : 'lost' }
  }

  /** The task has ended, so the upstream does not have to complete its call. */
  ended(taskId: string): void {
    const waiting = this.#waiting.get(taskId)
    if (waiting === undefined) return
    this.#forget(taskId)
    waiting.call.abort(new Error('The task of the call has ended.'))
  }

  /** Closes the questions of calls whose server is gone, and forgets calls that have ended. */
  async sweep(): Promise<void> {
    const { gate, entries, tenant } = this.#deps
    for (let after = ''; ; ) {
      const page = await entries.list(tenant, KIND, after, PAGE)
      const ended = new Set(
        await gate.toolCalls.ended(
          tenant,
          page.map(({ name }) => name),
        ),
      )
      for (const { name, value } of page) {
        const known = stored.parse(JSON.parse(value))
        if (ended.has(name)) await entries.remove(tenant, KIND, name)
        else if (known.mode === 'open' && !this.#waiting.has(name) && !this.#isAlive(known)) {
          await this.#withdraw(name)
        }
      }
      if (page.length < PAGE) return
      after = page.at(-1)?.name ?? after
    }
  }

  /** Ends the open calls. Their tasks continue after the next start, or at another server. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    for (const [taskId, waiting] of [...this.#waiting]) {
      this.#forget(taskId)
      waiting.call.abort(new Error('The server stops.'))
      await this.#put(taskId, this.#openCall(waiting, 0)).catch(this.#deps.report)
      await this.#withdraw(taskId).catch(this.#deps.report)
    }
  }

  #openCall({ attempt }: Waiting, at: number): Stored {
    return { mode: 'open', instance: this.#deps.gate.settings.instance_id, at, attempt }
  }

  #isAlive({ instance, at }: Extract<Stored, { mode: 'open' }>): boolean {
    const { shared, gate } = this.#deps
    return shared && instance !== gate.settings.instance_id && Math.abs(Date.now() - at) < SILENT_MS
  }

  #look(): void {
    this.#looking ??= this.#check()
      .catch(this.#deps.report)
      .finally(() => {
        this.#looking = undefined
      })
  }

  /** Another server may have answered or ended the task of a waiting call. */
  async #check(): Promise<void> {
    const { gate, tenant, look } = this.#deps
    const ids = [...this.#waiting.keys()]
    if (ids.length === 0) return
    const now = Date.now()
    if (now - this.#confirmedAt >= CONFIRM_MS) {
      this.#confirmedAt = now
      for (const [id, waiting] of [...this.#waiting]) await this.#put(id, this.#openCall(waiting, now))
    }
    const rows = await gate.toolCalls.statuses(tenant, ids)
    for (const id of await gate.toolCalls.ended(tenant, ids)) this.ended(id)
    if (rows.some(({ status }) => status === 'queued')) look()
  }

  #withdraw(taskId: string): Promise<boolean> {
    const { gate, tenant } = this.#deps
    return gate.toolCalls.withdraw(tenant, taskId, 'The upstream no longer waits for the answer.')
  }

  #forget(taskId: string): void {
    const waiting = this.#waiting.get(taskId)
    if (waiting !== undefined) waiting.call.onChange = () => {}
    this.#waiting.delete(taskId)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #get(taskId: string): Promise<Stored | undefined> {
    const entry = await this.#deps.entries.get(this.#deps.tenant, KIND, taskId)
    return entry && stored.parse(JSON.parse(entry.value))
  }

  async #put(name: string, value: Stored): Promise<void> {
    const { entries, tenant } = this.#deps
    await entries.put({ tenant, kind: KIND, name, value: JSON.stringify(value), due_at: null })
  }
}

type Answers = NonNullable<GrantedCall['offer']['answers']>

/** The answers belong to the requests in their order. */
function continuationOf(
  { requests, request_state, takes_answers }: Extract<Stored, { mode: 'repeat' }>,
  answers: Answers,
): Continuation {
  const next = requests[answers.length]
  if (next !== undefined) return { kind: 'ask', elicitation: next.elicitation }
  const results = requests.map(({ key, elicitation: asked }, i): [string, ElicitResult] => [
    key,
    resultOf(asked, answers[i]) ?? { action: 'cancel' },
  ])
  if (!takes_answers) {
    const isDeclined = results.some(([, { action }]) => action !== 'accept')
    return isDeclined ? { kind: 'declined' } : { kind: 'repeat', repetition: {} }
  }
  return {
    kind: 'repeat',
    repetition: {
      ...(results.length > 0 && { inputResponses: Object.fromEntries(results) }),
      ...(request_state !== null && { requestState: request_state }),
    },
  }
}

/** The answer for the upstream. Undefined if the question was withdrawn. */
function resultOf(asked: Elicitation, given: Answers[number] | undefined): ElicitResult | undefined {
  if (given?.state !== 'answered' || !isObject(given.answer)) return undefined
  const { action, content } = given.answer
  if (action === 'decline' || action === 'cancel') return { action }
  if (asked.url !== undefined) return { action: 'accept' }
  return { action: 'accept', content: formContent.parse(content) }
}

/** Content was validated when the question was answered. */
const formContent = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
