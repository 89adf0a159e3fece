import type { Offer } from '../client/operations.ts'
import { Parked } from './errors.ts'
import { check, jsonSchemaOf, type Problem, type SchemaOutput, type StandardSchema } from './schema.ts'
import { type Duration, milliseconds, wholeSeconds } from './timing.ts'

/** A question to the agent that created the task. */
export interface AskRequest<Schema extends StandardSchema = StandardSchema> {
  /** The question, as text. */
  readonly message: string
  /** The schema of the answer. If its library can export JSON Schema, the server refuses invalid answers itself. */
  readonly schema?: Schema
  /** How long to wait for an answer. The task fails if there is none by then. */
  readonly expiresIn?: Duration
}

/** A request for approval by a person. */
export interface ApprovalRequest {
  /** The action to approve, in one line. */
  readonly title: string
  /** JSON that is shown to the person who decides. */
  readonly show?: unknown
  /** Why approval is needed. */
  readonly reason?: string
  /** How long to wait for a decision. The task is canceled if there is none by then. */
  readonly expiresIn?: Duration
}

/** A granted approval. A denial cancels the task, so that the handler does not run again. */
export interface Approval {
  /** Who approved, as in `human:ann`. */
  readonly by: string
  readonly comment: string | null
  /** ISO 8601. */
  readonly at: string
}

/** A question, as the API takes it. */
export interface Question {
  readonly kind: 'approval' | 'input'
  readonly request: Readonly<Record<string, unknown>>
  readonly expires_in_seconds?: number
}

/** An answered question in the offer of a task. */
type Answered = NonNullable<Offer['answers']>[number]

const MAX_MESSAGE = 4000

/**
 * The questions of a handler in one run. A handler that asks runs again with the answer. A question gets a recorded answer
 * only if it is equal to the recorded question; a question that is asked twice gets two answers, in order. Any other
 * question is new and ends the run.
 */
export class Questions {
  readonly #answers: readonly Answered[]
  #taken = 0
  #open: Question | undefined

  constructor({ answers = [] }: Offer) {
    // Approvals that a policy required are not questions of the handler.
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
      // JSON Schema cannot express every check of the schema. An answer that fails here is asked for again.
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

  /** The recorded answer to an equal question, if it was not used in this run. */
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
    // A concurrent question may have parked the task meanwhile.
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
  // Part of the recorded question: another text would not match questions of earlier versions.
  const wrong = `The last answer did not fit: ${path === '' ? '' : `${path}: `}${problem.message}`
  return { ...asked, message: `${message}\n\n${wrong}`.slice(0, MAX_MESSAGE) }
}

function isGate({ kind, id }: Answered['asked_by']): boolean {
  return kind === 'service' && id === 'asyncgate'
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/**
 * Whether a question is equal to a recorded one. Fields that a policy redacted in the recorded question, which
 * `redacted_fields` lists, are not compared.
 */
function isSameRequest(recorded: unknown, request: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(recorded)) return false
  const { redacted_fields, ...kept } = recorded
  const redacted = new Set(Array.isArray(redacted_fields) ? redacted_fields.map(String) : [])
  // In the form that the server received: without undefined members, and with dates as texts.
  const asked: unknown = JSON.parse(JSON.stringify(request))
  return isEqual(kept, asked, '', redacted)
}

function isEqual(before: unknown, now: unknown, pointer: string, redacted: ReadonlySet<string>): boolean {
  if (redacted.has(pointer)) return true
  if (!isObject(before) || !isObject(now)) return before === now
  if (Array.isArray(before) !== Array.isArray(now)) return false
  const names = Object.keys(before)
  if (names.length !== Object.keys(now).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(now, name) && isEqual(before[name], now[name], `${pointer}/${escaped(name)}`, redacted),
  )
}

/** A member name in a JSON Pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
