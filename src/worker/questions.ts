import type { Offer } from '../client/operations.ts'
import { type Duration, milliseconds, wholeSeconds } from './duration.ts'
import { Parked } from './errors.ts'
import { isSameRequest } from './same-request.ts'
import { check, jsonSchemaOf, type Problem, type SchemaOutput, type StandardSchema } from './schema.ts'

/** What the agent's side is asked for. */
export interface AskRequest<Schema extends StandardSchema = StandardSchema> {
  /** What is needed, in words. */
  readonly message: string
  /** What the answer must be. Libraries that can say it as JSON Schema let the server refuse a wrong one at once. */
  readonly schema?: Schema
  /** How long to wait for an answer. Without one the task then fails. */
  readonly expiresIn?: Duration
}

/** What a person is asked to approve. */
export interface ApprovalRequest {
  /** What is to be done, in a line. */
  readonly title: string
  /** What the person should see before deciding: any JSON. */
  readonly show?: unknown
  /** Why it is asked. */
  readonly reason?: string
  /** How long to wait for a decision. Without one the task is then canceled. */
  readonly expiresIn?: Duration
}

/** A yes. A no ends the task, and no handler hears of it. */
export interface Approval {
  /** Who approved, as in `human:ann`. */
  readonly by: string
  readonly comment: string | null
  /** ISO 8601. */
  readonly at: string
}

/** A question as the server takes it. */
export interface Question {
  readonly kind: 'approval' | 'input'
  readonly request: Readonly<Record<string, unknown>>
  readonly expires_in_seconds?: number
}

/** What became of a question, as the offer of a task tells it. */
type Answered = NonNullable<Offer['answers']>[number]

const MAX_MESSAGE = 4000

/**
 * What a handler asks in one run. A handler that asks is run again with the answer. A question gets the recorded answer only
 * if it asks what was asked then; the same question asked twice gets two answers, in their order. Any other question is new,
 * and ends the run: nobody has decided on it.
 */
export class Questions {
  readonly #answers: readonly Answered[]
  #taken = 0
  #open: Question | undefined

  constructor({ answers = [] }: Offer) {
    // The approval that a rule asked for is no question of the handler.
    this.#answers = answers.filter(({ asked_by }) => !isGate(asked_by))
  }

  /** The question that ended this run. */
  get open(): Question | undefined {
    return this.#open
  }

  async ask<Schema extends StandardSchema>(request: AskRequest<Schema>): Promise<SchemaOutput<Schema>> {
    const { message, schema, expiresIn } = request
    const asked: Question['request'] = { message, schema: schema && jsonSchemaOf(schema) }
    let problem: Problem | undefined
    for (;;) {
      const wanted = again(asked, message, problem)
      const answer = this.#take('input', wanted) ?? this.#park('input', wanted, expiresIn)
      const checked = await check(schema, member(answer.answer, 'content'))
      if ('value' in checked) return checked.value
      // What the schema cannot say as JSON Schema is only found out here: it is asked again.
      problem = checked.problems[0]
    }
  }

  async approval({ title, show, reason, expiresIn }: ApprovalRequest): Promise<Approval> {
    const wanted = { title, show, reason }
    const answer = this.#take('approval', wanted) ?? this.#park('approval', wanted, expiresIn)
    const comment = member(answer.answer, 'comment')
    const { decided_by } = answer
    return {
      by: decided_by === null ? '' : `${decided_by.kind}:${decided_by.id}`,
      comment: typeof comment === 'string' ? comment : null,
      at: answer.decided_at ?? '',
    }
  }

  /** The answer to this very question, if it was asked before and not used in this run. */
  #take(kind: Question['kind'], request: Question['request']): Answered | undefined {
    if (this.#open !== undefined) throw new Parked()
    const at = this.#answers.findIndex(
      (answer, i) => i >= this.#taken && answer.kind === kind && isSameRequest(answer.request, request),
    )
    if (at === -1) return undefined
    this.#taken = at + 1
    return this.#answers[at]
  }

  #park(kind: Question['kind'], request: Question['request'], expiresIn: Duration | undefined): never {
    // Another may have come to its end while this one was being looked at.
    if (this.#open !== undefined) throw new Parked()
    this.#open =
      expiresIn === undefined
        ? { kind, request }
        : { kind, request, expires_in_seconds: wholeSeconds(milliseconds(expiresIn)) }
    throw new Parked()
  }
}

function again(
  asked: Question['request'],
  message: string,
  problem: Problem | undefined,
): Question['request'] {
  if (problem === undefined) return asked
  const { path } = problem
  const wrong = `The last answer did not fit: ${path === '' ? '' : `${path}: `}${problem.message}`
  return { ...asked, message: `${message}\n\n${wrong}`.slice(0, MAX_MESSAGE) }
}

function isGate({ kind, id }: Answered['asked_by']): boolean {
  return kind === 'service' && id === 'asyncgate'
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
