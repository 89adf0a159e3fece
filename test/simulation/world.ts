import { Fault } from '../../src/core/errors.ts'
import type { Settings } from '../../src/core/settings.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { type Store, StoreError } from '../../src/store/store.ts'
import { seededRandom } from '../../src/util/random.ts'
import type { ManualClock } from '../support/gates.ts'
import { Dice } from './dice.ts'
import { type CommitFaults, FaultyStore } from './faulty-store.ts'
import { History } from './history.ts'
import type { Habit, Swarm } from './swarm.ts'

/** Fires the timers that become due when the clock advances. */
export interface Timers {
  advance(ms: number): void
}

export const TENANTS = ['north', 'south'] as const

/**
 * The outcome of a call. `unknown`: it may have been committed. `nothing`: the gate reports that it was not, and that
 * it can be repeated.
 */
export type Result<Answer> =
  | { readonly answer: Answer; readonly code?: undefined }
  | { readonly answer?: undefined; readonly code: 'unknown' | 'nothing' | Fault['code'] }

/** Gates on one store, a clock, and all callers. */
export class World {
  readonly clock: ManualClock
  readonly dice: Dice
  readonly swarm: Swarm
  readonly history = new History()
  /** Every call with its outcome, in the order of completion. */
  readonly log: string[] = []
  simulatedMs = 0
  readonly #store: Store
  readonly #timers: Timers
  readonly #seed: number
  #gates: { readonly gate: Gate; readonly store: FaultyStore }[] = []
  #opened = 0

  constructor(seed: number, swarm: Swarm, store: Store, clock: ManualClock, timers: Timers) {
    this.#seed = seed
    this.dice = new Dice(seed ^ 0x5eed)
    this.swarm = swarm
    this.#store = store
    this.clock = clock
    this.#timers = timers
    for (let i = 0; i < swarm.gates; i++) this.#gates.push(this.#open(swarm.commits, swarm.settings))
  }

  does(habit: Habit): boolean {
    return this.swarm.habits.has(habit)
  }

  pass(ms: number): void {
    this.clock.now += ms
    this.simulatedMs += ms
    this.#timers.advance(ms)
  }

  /** Kills one gate in the middle of its work and replaces it. */
  crash(): void {
    const i = this.dice.below(this.#gates.length)
    this.#gates[i]?.store.die()
    this.#gates[i] = this.#open(this.swarm.commits, this.swarm.settings)
    this.log.push(`gate ${i} crashed`)
  }

  /** Ends all faults. Returns the only remaining gate. */
  calm(): Gate {
    for (const { store } of this.#gates) store.die()
    const { max_pending_commands: _, ...settings } = this.swarm.settings
    const calm = this.#open({ before: 0, after: 0, delay: 0 }, settings)
    this.#gates = [calm]
    return calm.gate
  }

  /** Calls a random gate. Any error except an allowed fault of the verb is a violation. */
  async call<Answer>(
    who: string,
    what: string,
    allowed: readonly Fault['code'][],
    run: (gate: Gate) => Promise<Answer>,
  ): Promise<Result<Answer>> {
    const { gate } = this.dice.pick(this.#gates)
    const result = await this.#settle(`${who}: ${what}`, allowed, run(gate))
    this.log.push(`${this.clock.now} ${who}: ${what} -> ${result.code ?? JSON.stringify(result.answer)}`)
    return result
  }

  async #settle<Answer>(
    what: string,
    allowed: readonly Fault['code'][],
    call: Promise<Answer>,
  ): Promise<Result<Answer>> {
    try {
      return { answer: await call }
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'unavailable') return { code: 'nothing' }
      if (!(error instanceof Fault)) {
        this.history.violation(`${what} threw ${error}`)
        return { code: 'unknown' }
      }
      if (error.code === 'OUTCOME_UNKNOWN') return { code: 'unknown' }
      if (error.code === 'DATABASE_UNAVAILABLE' || error.code === 'OVERLOADED') return { code: 'nothing' }
      if (!allowed.includes(error.code)) this.history.violation(`${what} was refused with ${error.code}`)
      return { code: error.code }
    }
  }

  #open(faults: CommitFaults, settings: Partial<Settings>) {
    const number = ++this.#opened
    const store = new FaultyStore(this.#store, new Dice(this.#seed * 1009 + number), faults)
    const gate = openGate({
      store,
      settings: { ...settings, instance_id: `gate-${number}` },
      ...(this.swarm.isStrict && { policy: { defaults: { plain: 'REQUIRE_APPROVAL' } } }),
      sweeping: false,
      random: seededRandom(this.#seed * 7919 + number),
      onError: (error) => {
        if (!(error instanceof StoreError)) this.history.violation(`a gate reported ${error}`)
      },
    })
    return { gate, store }
  }
}
