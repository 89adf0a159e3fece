import type { Fault } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json/json.ts'
import type { Caller } from '../../src/core/principal.ts'
import type { Gate } from '../../src/features/gate.ts'
import { admin, agent } from '../support/gates.ts'
import { POISON } from './faulty-store.ts'
import type { Request } from './history.ts'
import type { World } from './world.ts'

/** An actor that performs one step after the other. */
export interface Actor {
  readonly name: string
  step(): Promise<void>
}

/** Creates tasks, and repeats each create under the same key until it gets a response. */
export class Agent implements Actor {
  readonly name: string
  readonly #world: World
  readonly #caller: Caller
  readonly #tenant: string
  readonly #id: string
  #pending: Request | undefined
  #count = 0
  #receipts: string[] = []

  constructor(world: World, tenant: string, id: string) {
    this.#world = world
    this.#tenant = tenant
    this.#id = id
    this.#caller = agent(id, tenant)
    this.name = `${tenant}/${id}`
  }

  async step(): Promise<void> {
    const { dice } = this.#world
    if (this.#pending !== undefined) return this.#create(this.#pending)
    const own = this.#world.history.requests.filter(
      (request) => request.tenant === this.#tenant && request.owner === this.#id && request.taskId !== null,
    )
    if (own.length > 0 && this.#world.does('cancel') && dice.chance(0.1)) return this.#cancel(dice.pick(own))
    if (own.length > 0 && this.#world.does('reuse key') && dice.chance(0.1))
      return this.#reuse(dice.pick(own))
    if (own.length > 0 && dice.chance(0.2)) return this.#look(dice.pick(own))
    if (this.#world.does('acknowledge') && dice.chance(0.1)) return this.#acknowledge()
    if (this.#world.does('poison') && dice.chance(0.05)) return this.#poison()
    return this.#create(this.#request())
  }

  #request(): Request {
    const { dice, history } = this.#world
    const tag = `${this.name}-${++this.#count}`
    const timeout = this.#world.does('timeout') && dice.chance(0.3)
    const input: JsonObject = {
      type: dice.pick(['x', 'y']),
      payload: { tag },
      priority: dice.pick([0, 0, 0, 5]),
      max_attempts: dice.pick([1, 2, 3]),
      retry_backoff_seconds: dice.pick([0, 5, 60]),
      principal_ai: dice.pick([this.#id, this.#id, 'eve']),
      ...(this.#world.does('capability') && { requirements: { capabilities: dice.pick([[], ['gpu']]) } }),
      ...(this.#world.does('delay') && dice.chance(0.3) && { delay_seconds: dice.pick([1, 20]) }),
      ...(timeout && { timeout_seconds: dice.pick([15, 60]) }),
    }
    const key = this.#world.does('no key') && dice.chance(0.3) ? null : tag
    const request = { tenant: this.#tenant, owner: this.#id, key, tag, input, taskId: null, isOpen: false }
    history.requests.push(request)
    return request
  }

  async #create(request: Request): Promise<void> {
    this.#pending = undefined
    const input = { ...request.input, ...(request.key !== null && { idempotency_key: request.key }) }
    const result = await this.#call(`create ${request.tag}`, ['QUOTA_EXCEEDED'], (gate) =>
      gate.createTask(this.#caller, input),
    )
    if (result.answer !== undefined) {
      this.#world.history.created(request, result.answer)
      this.#receipts.push(result.answer.receipt_id)
      return
    }
    if (result.code === 'unknown') request.isOpen = true
    const tryAgain = result.code === 'nothing' || (result.code === 'unknown' && request.key !== null)
    if (tryAgain) this.#pending = request
  }

  /** Uses the same key again: the same input gives the same task, and another input is refused. */
  async #reuse(request: Request): Promise<void> {
    if (request.key === null) return
    const other = this.#world.dice.chance(0.5)
    const input = { ...request.input, idempotency_key: request.key, ...(other && { summary: 'another' }) }
    const result = await this.#call(`reuse ${request.tag}`, ['IDEMPOTENCY_CONFLICT'], (gate) =>
      gate.createTask(this.#caller, input),
    )
    const { history } = this.#world
    if (result.answer !== undefined) {
      if (other) history.violation(`another input under the key of ${request.tag} was accepted`)
      else history.created(request, result.answer)
    } else if (!other && result.code === 'IDEMPOTENCY_CONFLICT') {
      history.violation(`the same input under the key of ${request.tag} was refused`)
    }
  }

  /** A create that the database refuses; others in the same batch must not be affected. */
  async #poison(): Promise<void> {
    const key = `${POISON}-${this.name}-${++this.#count}`
    const input = { type: 'x', payload: { tag: key }, idempotency_key: key }
    const result = await this.#call(`create ${key}`, ['INTERNAL_ERROR'], (gate) =>
      gate.createTask(this.#caller, input),
    )
    if (result.answer !== undefined) this.#world.history.violation(`${key} was stored`)
  }

  async #cancel({ taskId }: Request): Promise<void> {
    const result = await this.#call(`cancel ${taskId}`, [], (gate) =>
      gate.cancelTask(this.#caller, { task_id: taskId, reason: 'enough' }),
    )
    if (result.answer?.ok && taskId !== null) this.#world.history.canceled(taskId)
  }

  async #look({ taskId }: Request): Promise<void> {
    const { dice, history } = this.#world
    const waits = this.#world.does('wait') && dice.chance(0.5)
    const result = await this.#call(`look at ${taskId}`, [], (gate) =>
      waits
        ? gate.waitForTask(this.#caller, { task_id: taskId, wait_seconds: 1 + dice.below(20) })
        : gate.getTask(this.#caller, { task_id: taskId }),
    )
    if (result.answer === undefined) return
    history.saw(result.answer)
    const { question, task_id } = result.answer
    if (question?.kind === 'input') await this.#answer(task_id, question.n)
  }

  async #answer(task_id: string, n: number): Promise<void> {
    const result = await this.#call(`answer ${task_id} ${n}`, ['ALREADY_DECIDED'], (gate) =>
      gate.answerQuestion(this.#caller, { task_id, n, content: 'this one' }),
    )
    if (result.answer !== undefined) this.#world.history.decided(result.answer)
  }

  async #acknowledge(): Promise<void> {
    if (this.#receipts.length === 0) return
    const receipt_id = this.#world.dice.pick(this.#receipts)
    await this.#call(`acknowledge ${receipt_id}`, [], (gate) => gate.ackReceipt(this.#caller, { receipt_id }))
  }

  #call<Answer>(what: string, allowed: readonly Fault['code'][], run: (gate: Gate) => Promise<Answer>) {
    return this.#world.call(this.name, what, allowed, run)
  }
}

/** Cancels random tasks of any owner. */
export class Admin implements Actor {
  readonly name: string
  readonly #world: World
  readonly #tenant: string

  constructor(world: World, tenant: string) {
    this.#world = world
    this.#tenant = tenant
    this.name = `${tenant}/admin`
  }

  async step(): Promise<void> {
    const { dice, history } = this.#world
    const known = history.requests.filter(({ tenant, taskId }) => tenant === this.#tenant && taskId !== null)
    if (known.length === 0 || !dice.chance(0.2)) return
    const { taskId } = dice.pick(known)
    const result = await this.#world.call(this.name, `cancel ${taskId}`, [], (gate) =>
      gate.cancelTask(admin(this.#tenant), { task_id: taskId }),
    )
    if (result.answer?.ok && taskId !== null) history.canceled(taskId)
  }
}

/** Sweeps. A sweep may fail; the next one continues. */
export class Sweeper implements Actor {
  readonly name = 'sweeper'
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  async step(): Promise<void> {
    await this.#world.call(this.name, 'sweep', [], (gate) => gate.sweep())
  }
}
