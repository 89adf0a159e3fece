import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isReady } from '../../src/core/task.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { inputOf, requirementsOf } from '../../src/features/tasks/task-input.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../../src/util/random.ts'
import { agent, ManualClock, worker } from '../support/gates.ts'
import { Dice, turns } from './dice.ts'

const SEEDS = 60
const count = Number(process.env.ASYNCGATE_SEEDS ?? SEEDS)
const only = process.env.ASYNCGATE_SEED
const seeds = only === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(only)]

const timeout = 120_000 * Math.max(1, seeds.length / SEEDS)

const WAIT_SECONDS = 40
/** The interval at which a gate searches while a claim waits. */
const SEARCH_MS = 1000

interface Waiting {
  readonly types: readonly string[]
  readonly capabilities: readonly string[]
  readonly since: number
}

/** Waiting workers and random tasks. The timers of the gate advance only with this clock. */
class WaitingRoom {
  readonly #gate: Gate
  readonly #store: Store
  readonly #clock: ManualClock
  readonly #dice: Dice
  readonly waiting = new Set<Waiting>()
  readonly failures: unknown[] = []
  readonly #leases: { readonly worker_id: string; readonly task_id: string; readonly lease_id: string }[] = []
  #workers = 0

  constructor(gate: Gate, store: Store, clock: ManualClock, dice: Dice) {
    this.#gate = gate
    this.#store = store
    this.#clock = clock
    this.#dice = dice
  }

  /** Several events at about the same time. */
  async burst(): Promise<void> {
    const dice = this.#dice
    for (let n = 1 + dice.below(6); n > 0; n--) {
      const act = dice.pick([this.arrive, this.arrive, this.create, this.create, this.create, this.release])
      act.call(this)
      await turns(dice.pick([0, 0, 0, 1, 2]))
    }
    await turns(40)
  }

  pass(ms: number): void {
    this.#clock.now += ms
    vi.advanceTimersByTime(ms)
  }

  arrive(): void {
    const dice = this.#dice
    const worker_id = `w${++this.#workers}`
    const types = dice.pick([['x'], ['y'], ['x', 'y']])
    const waiting = { types, capabilities: dice.pick([[], ['gpu']]), since: this.#clock.now }
    const input = {
      worker_id,
      capabilities: waiting.capabilities,
      ...(types.length === 1 && { accept_types: types }),
      ...(dice.chance(0.2) && { preferred_types: ['y'] }),
      max_tasks: 1 + dice.below(2),
      wait_seconds: WAIT_SECONDS,
      lease_ttl_seconds: 1800,
    }
    this.waiting.add(waiting)
    this.#run(
      this.#gate.leaseNext(worker(worker_id), input).then(({ tasks }) => {
        this.waiting.delete(waiting)
        for (const { task_id, lease_id } of tasks) this.#leases.push({ worker_id, task_id, lease_id })
      }),
    )
  }

  create(): void {
    const dice = this.#dice
    const input = {
      type: dice.pick(['x', 'y']),
      priority: dice.pick([0, 0, 5]),
      requirements: { capabilities: dice.pick([[], [], ['gpu']]) },
      delay_seconds: dice.pick([0, 0, 0, 3]),
    }
    this.#run(this.#gate.createTask(agent(dice.pick(['ann', 'ben'])), input))
  }

  release(): void {
    const lease = this.#leases.pop()
    if (lease !== undefined) this.#run(this.#gate.releaseLease(worker(lease.worker_id), lease))
  }

  #run(call: Promise<unknown>): void {
    call.catch((error: unknown) => this.failures.push(error))
  }

  /** Ready tasks for which a matching claim is waiting. */
  async overlooked(): Promise<string[]> {
    const { tenant } = await this.#store.tenant('default')
    const lines = await this.#store.reads.scan(tenant, { by: 'status', status: 'queued' }, 1e9, 1000)
    const ids = lines.map((line) => line.task_id)
    const records = await this.#store.reads.tasks(tenant, ids)
    return records
      .filter(({ task, spec }) => {
        const { capabilities } = requirementsOf(inputOf(spec.input))
        const fits = (waiting: Waiting) =>
          waiting.types.includes(spec.type) &&
          capabilities.every((capability) => waiting.capabilities.includes(capability))
        return isReady(task) && [...this.waiting].some(fits)
      })
      .map(({ task, spec }) => `${spec.type} ${spec.input} of seq ${task.seq}`)
  }

  late(): Waiting[] {
    return [...this.waiting].filter(({ since }) => this.#clock.now > since + WAIT_SECONDS * 1000)
  }
}

describe('waiting claims', () => {
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  })
  afterAll(() => {
    vi.useRealTimers()
  })

  const inRoom = async (
    seed: number,
    visit: (room: WaitingRoom, dice: Dice, gate: Gate) => Promise<void>,
  ) => {
    const clock = new ManualClock()
    const store = await openSqliteStore({ path: ':memory:', now: () => clock.now })
    const gate = openGate({ store, sweeping: false, random: seededRandom(seed) })
    const dice = new Dice(seed)
    const room = new WaitingRoom(gate, store, clock, dice)
    await visit(room, dice, gate)
    expect(room.failures).toEqual([])
  }

  const again = (seed: number) =>
    `seed ${seed}; to see it again:\n  ASYNCGATE_SEED=${seed} npx vitest run test/simulation/waiting.test.ts\n`

  it(
    'waiting claims receive tasks as soon as they are ready, without the periodic search',
    async () => {
      for (const seed of seeds) {
        await inRoom(seed, async (room, _, gate) => {
          for (let n = 0; n < 25; n++) {
            await room.burst()
            expect(await room.overlooked(), again(seed)).toEqual([])
          }
          await gate.close()
        })
      }
    },
    timeout,
  )

  it(
    'waiting claims receive tasks that become due, and return in time without any',
    async () => {
      for (const seed of seeds) {
        await inRoom(seed, async (room, dice, gate) => {
          for (let n = 0; n < 15; n++) {
            await room.burst()
            for (let wait = dice.below(20_000); wait > 0; wait -= SEARCH_MS) {
              room.pass(SEARCH_MS)
              await turns(60)
            }
            expect(await room.overlooked(), again(seed)).toEqual([])
            expect(room.late(), again(seed)).toEqual([])
          }
          await gate.close()
        })
      }
    },
    timeout,
  )

  it(
    'waiting claims return when the gate closes',
    async () => {
      for (const seed of seeds) {
        await inRoom(seed, async (room, dice, gate) => {
          for (let n = 0; n < 4; n++) room.arrive()
          for (let n = 0; n < 3; n++) room.create()
          await turns(dice.below(8))
          const closed = gate.close()
          await turns(60)
          await closed
          expect(room.waiting.size, again(seed)).toBe(0)
        })
      }
    },
    timeout,
  )
})
