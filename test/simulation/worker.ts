import type { Fault } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json/json.ts'
import type { Caller } from '../../src/core/principal.ts'
import type { Gate } from '../../src/features/gate.ts'
import { worker } from '../support/gates.ts'
import type { Actor } from './agent.ts'
import type { LeaseRecord } from './history.ts'
import type { World } from './world.ts'

const STALE = 'LEASE_INVALID_OR_EXPIRED'

/** A worker that may go silent, return too late, or release its tasks. */
export class Worker implements Actor {
  readonly name: string
  readonly #world: World
  readonly #tenant: string
  readonly #id: string
  readonly #caller: Caller
  readonly #capabilities: readonly string[]
  #held: LeaseRecord[] = []
  /** Leases that have ended. */
  readonly #old: LeaseRecord[] = []
  /** The call to repeat, because it got no response. */
  #pending: (() => Promise<void>) | undefined

  constructor(world: World, tenant: string, id: string) {
    this.#world = world
    this.#tenant = tenant
    this.#id = id
    this.#caller = worker(id, tenant)
    this.#capabilities = world.dice.chance(0.5) ? ['gpu'] : []
    this.name = `${tenant}/${id}`
  }

  async step(): Promise<void> {
    const { dice } = this.#world
    const pending = this.#pending
    if (pending !== undefined) {
      this.#pending = undefined
      return pending()
    }
    if (this.#old.length > 0 && dice.chance(0.2)) return this.#act(dice.pick(this.#old))
    if (this.#held.length < 3 && (this.#held.length === 0 || dice.chance(0.2))) return this.#claim()
    const lease = dice.pick(this.#held)
    if (this.#world.does('vanish') && dice.chance(0.1)) return this.#forget(lease)
    if (this.#world.does('zombie') && dice.chance(0.1)) {
      this.#old.push(lease)
      return this.#forget(lease)
    }
    return this.#act(lease)
  }

  async #claim(): Promise<void> {
    const { dice, history } = this.#world
    const input = {
      worker_id: this.#id,
      capabilities: this.#capabilities,
      max_tasks: 1 + dice.below(2),
      lease_ttl_seconds: dice.pick([5, 30, 120]),
      ...(dice.chance(0.2) && { accept_types: ['x'] }),
      ...(this.#world.does('wait') && dice.chance(0.5) && { wait_seconds: 1 + dice.below(20) }),
    }
    const result = await this.#call('claim', [], (gate) => gate.leaseNext(this.#caller, input))
    for (const offer of result.answer?.tasks ?? []) {
      this.#held.push(history.granted(this.#tenant, `worker:${this.#id}`, offer))
    }
  }

  #act(lease: LeaseRecord): Promise<void> {
    const { dice } = this.#world
    const choices = [() => this.#complete(lease, true)]
    if (this.#world.does('without evidence')) choices.push(() => this.#complete(lease, false))
    if (this.#world.does('start')) choices.push(() => this.#start(lease))
    if (this.#world.does('progress')) choices.push(() => this.#progress(lease))
    if (this.#world.does('renew')) choices.push(() => this.#renew(lease))
    if (this.#world.does('release')) choices.push(() => this.#release(lease))
    if (this.#world.does('ask')) choices.push(() => this.#ask(lease))
    if (this.#world.does('fail')) choices.push(() => this.#fail(lease))
    return dice.pick(choices)()
  }

  async #start(lease: LeaseRecord): Promise<void> {
    const { code } = await this.#use(lease, 'start', [], (gate, fields) =>
      gate.startTask(this.#caller, fields),
    )
    if (code === STALE) this.#forget(lease)
  }

  async #progress(lease: LeaseRecord): Promise<void> {
    const seconds = this.#world.dice.chance(0.5) ? 20 : undefined
    await this.#extend(lease, 'progress', seconds, (gate, fields) =>
      gate.reportProgress(this.#caller, {
        ...fields,
        progress: { percent: 50 },
        ...(seconds && { extend_by_seconds: seconds }),
      }),
    )
  }

  async #renew(lease: LeaseRecord): Promise<void> {
    const seconds = this.#world.dice.pick([5, 60])
    await this.#extend(lease, 'renew', seconds, (gate, fields) =>
      gate.renewLease(this.#caller, { ...fields, extend_by_seconds: seconds }),
    )
  }

  async #extend(
    lease: LeaseRecord,
    what: string,
    seconds: number | undefined,
    run: (gate: Gate, fields: JsonObject) => Promise<{ readonly expires_at: string }>,
  ): Promise<void> {
    const { clock, history } = this.#world
    const from = clock.now
    const limits: Fault['code'][] = ['LEASE_RENEWAL_LIMIT_EXCEEDED', 'LEASE_LIFETIME_EXCEEDED']
    const { answer, code } = await this.#use(lease, what, limits, run)
    if (answer !== undefined) history.extended(lease, Date.parse(answer.expires_at))
    else if (code === STALE) this.#forget(lease)
    else if (code === 'unknown' && seconds !== undefined) {
      history.perhapsExtended(lease, from + seconds * 1000, clock.now + seconds * 1000)
    }
  }

  async #release(lease: LeaseRecord): Promise<void> {
    const { answer, code } = await this.#use(lease, 'release', [], (gate, fields) =>
      gate.releaseLease(this.#caller, fields),
    )
    if (answer !== undefined || code === STALE) this.#forget(lease)
    else this.#pending = () => this.#release(lease)
  }

  async #fail(lease: LeaseRecord): Promise<void> {
    const { dice } = this.#world
    const retryable = dice.chance(0.7)
    const again = { error: { code: 'E' }, retryable, ...(dice.chance(0.3) && { retry_after_seconds: 30 }) }
    const say = async (): Promise<void> => {
      const { answer, code } = await this.#use(lease, 'fail', [], (gate, fields) =>
        gate.fail(this.#caller, { ...fields, ...again }),
      )
      if (answer !== undefined || code === STALE) this.#forget(lease)
      else this.#pending = say
    }
    await say()
  }

  async #ask(lease: LeaseRecord): Promise<void> {
    const { dice } = this.#world
    const words = `of lease ${lease.leaseId}`
    const question = {
      ...(dice.chance(0.5)
        ? { kind: 'approval', request: { title: words } }
        : { kind: 'input', request: { message: words } }),
      ...(dice.chance(0.5) && { expires_in_seconds: dice.pick([5, 300]) }),
    }
    const say = async (): Promise<void> => {
      const { answer, code } = await this.#use(lease, 'ask', [], (gate, fields) =>
        gate.ask(this.#caller, { ...fields, ...question }),
      )
      if (answer !== undefined) this.#world.history.asked(lease, answer)
      if (answer !== undefined || code === STALE) this.#forget(lease)
      else this.#pending = say
    }
    await say()
  }

  async #complete(lease: LeaseRecord, located: boolean): Promise<void> {
    const result = { by: lease.leaseId }
    const say = async (): Promise<void> => {
      const { answer, code } = await this.#use(lease, 'complete', ['LOCATABILITY_REQUIRED'], (gate, fields) =>
        gate.complete(this.#caller, { ...fields, result, ...(located && { artifacts: [lease.leaseId] }) }),
      )
      if (answer !== undefined) this.#world.history.completed(lease, result, answer)
      if (answer !== undefined || code === STALE) this.#forget(lease)
      else if (code !== 'LOCATABILITY_REQUIRED') this.#pending = say
      if (answer?.obligation_open && this.#world.dice.chance(0.5)) this.#old.push(lease)
    }
    await say()
  }

  #use<Answer>(
    lease: LeaseRecord,
    what: string,
    allowed: readonly Fault['code'][],
    run: (gate: Gate, fields: JsonObject) => Promise<Answer>,
  ) {
    const fields = { worker_id: this.#id, task_id: lease.taskId, lease_id: lease.leaseId }
    return this.#call(`${what} ${lease.taskId} ${lease.fence}`, [STALE, ...allowed], (gate) =>
      run(gate, fields),
    )
  }

  #call<Answer>(what: string, allowed: readonly Fault['code'][], run: (gate: Gate) => Promise<Answer>) {
    return this.#world.call(this.name, what, allowed, run)
  }

  async #forget(lease: LeaseRecord): Promise<void> {
    this.#held = this.#held.filter((other) => other !== lease)
  }
}
