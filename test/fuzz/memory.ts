import type { Json } from '../../src/core/json/json.ts'
import { isList } from './mutate.ts'
import type { FuzzRequest } from './requests.ts'
import type { JsonFields } from './schema.ts'

/** The longest wait that a test can afford. */
const MAX_WAIT_SECONDS = 0.002
const NOTHING = 'nothing yet'

/** Ids from responses, newest last, for use in later requests. */
export class Memory {
  readonly #ids = new Map<string, string[]>()

  /** The input with its references replaced: `$task 0` is the newest task, `$task 1` the one before. */
  fill({ operation, input }: FuzzRequest): JsonFields {
    const filled = this.#fillFields(input)
    if (!('wait_seconds' in operation.input.shape)) return filled
    const wait = Object.hasOwn(filled, 'wait_seconds') ? filled.wait_seconds : null
    const isPatient = wait === null || (Number(wait) > MAX_WAIT_SECONDS && Number(wait) <= 50)
    return isPatient ? { ...filled, wait_seconds: MAX_WAIT_SECONDS } : filled
  }

  #fillFields(fields: JsonFields): JsonFields {
    return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, this.#fill(value)]))
  }

  #fill(value: Json): Json {
    if (typeof value === 'string') {
      const [, kind, n] = /^\$(\w+) (\d+)$/.exec(value) ?? []
      return kind === undefined ? value : this.#find(kind, Number(n))
    }
    if (typeof value !== 'object' || value === null) return value
    return isList(value) ? value.map((item) => this.#fill(item)) : this.#fillFields(value)
  }

  #find(kind: string, n: number): string {
    const ids = this.#ids.get(kind) ?? []
    return ids.at(-1 - (n % Math.max(1, ids.length))) ?? NOTHING
  }

  /** Records the ids in a response. */
  learn({ operation }: FuzzRequest, input: JsonFields, answer: unknown): void {
    if (!isFields(answer)) return
    this.#note('cursor', answer.next_cursor)
    const offers = operation.name === 'lease_next' && Array.isArray(answer.tasks) ? answer.tasks : []
    for (const offer of offers.filter(isFields)) {
      this.#note('lease', offer.lease_id)
      this.#note('held_task', offer.task_id)
      this.#note('holder', input.worker_id)
    }
    if (operation.name === 'ask') this.#note(`${input.kind}_task`, answer.task_id)
    if (operation.name === 'send_email') {
      this.#note('email', answer.email_id)
      this.#note('mailed_task', input.task_id)
    }
    this.#note('key', answer.key_id)
    this.#note('client', answer.client_id)
    this.#note('identity', answer.identity_id)
    this.#note('bulk', answer.bulk_id)
    if (operation.name === 'record_schedule') this.#note('schedule', input.schedule_id)
    const results: unknown[] = Array.isArray(answer.results) ? answer.results : []
    for (const fields of [answer, ...results].filter(isFields)) {
      this.#note('receipt', fields.receipt_id)
      if (operation.effect.readOnly === false) this.#note('task', fields.task_id)
    }
  }

  #note(kind: string, id: unknown): void {
    if (typeof id !== 'string') return
    this.#ids.set(kind, [...(this.#ids.get(kind) ?? []), id].slice(-30))
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
