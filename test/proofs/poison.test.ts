import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OpenTask } from '../../src/core/task.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { type Changes, isNeed, type Store } from '../../src/store/store.ts'
import { agent, describeGates, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../support/postgres.ts'
import {
  ask,
  at,
  claim,
  failTask,
  finish,
  held,
  hold,
  openTasks,
  override,
  receiptTypes,
  refusal,
  statusOf,
} from '../support/steps.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

/** Wraps a store and turns the rows of some commands into rows that the database refuses. */
class Spoiler {
  active = true
  /** The number of receipts of each batch, in the order of the attempts. */
  readonly sizes: number[] = []
  readonly #spoil: (changes: Changes) => Changes

  constructor(spoil: (changes: Changes) => Changes) {
    this.#spoil = spoil
  }

  readonly wrap = (store: Store): Store =>
    override(store, {
      commit: (need, decide) =>
        store.commit(need, (loaded) => {
          const changes = decide(loaded)
          if (isNeed(changes) || !this.active) return changes
          this.sizes.push(changes.receipts.length)
          return this.#spoil(changes)
        }),
    })
}

/** Spoils the rows of new tasks of the type `poison`. */
function spoilCreates(poison: object): Spoiler {
  return new Spoiler((changes) => {
    const types = new Map(changes.specs.map((spec) => [spec.seq, spec.type]))
    const inserted = changes.inserted.map((task) =>
      types.get(task.seq) === 'poison' ? ({ ...task, ...poison } as OpenTask) : task,
    )
    return { ...changes, inserted }
  })
}

/** Spoils the status of tasks that end with the result `poison`. */
function spoilEndings(): Spoiler {
  return new Spoiler((changes) => ({
    ...changes,
    finished: changes.finished.map((task) =>
      task.outcome.result === '"poison"' ? { ...task, status: 'melted' as 'succeeded' } : task,
    ),
  }))
}

describeGates('command that the database refuses', (open, storeName) => {
  const poisons: [string, object][] = [
    ['a fraction in an integer column', { rank: 1.5 }],
    ['null in a NOT NULL column', { owner: null }],
  ]
  // SQLite would store such a text; the checks of the gate prevent it.
  if (storeName === 'postgres') poisons.push(['a NUL character', { owner: 'agent:a\0b' }])

  it.each(poisons)(
    'a refused command fails alone, and the rest of its batch is committed: %s',
    async (_, poison) => {
      const { wrap, sizes } = spoilCreates(poison)
      const { gate, store, errors } = await open({ wrap })
      const [done, failed, moved] = [await hold(gate), await hold(gate), await hold(gate)]
      const canceled = await ask(gate, { delay_seconds: 60 })
      await ask(gate, { type: 'ready' })
      sizes.length = 0

      const some = () => Promise.all(Array.from({ length: 8 }, () => ask(gate)))
      const answers = await Promise.all([
        some(),
        finish(gate, done),
        refusal(ask(gate, { type: 'poison' })),
        failTask(gate, failed),
        claim(gate, { accept_types: ['ready'] }),
        some(),
        refusal(ask(gate, { type: 'poison' })),
        gate.reportProgress(worker(), { ...held(moved), progress: { percent: 50 } }),
        gate.cancelTask(agent(), { task_id: canceled.task_id }),
      ])

      expect(at(sizes, 0), 'receipts of the first batch').toBeGreaterThan(20)
      const created = Array.from({ length: 8 }, () => ({ status: 'queued', is_duplicate: false }))
      expect(answers).toMatchObject([
        created,
        { ok: true, obligation_open: false },
        { code: 'INTERNAL_ERROR' },
        { ok: true, requeued: false },
        [{ type: 'ready', fence: 1 }],
        created,
        { code: 'INTERNAL_ERROR' },
        { ok: true },
        { ok: true, status: 'canceled' },
      ])
      expect(errors).toMatchObject([{ reason: 'refused' }, { reason: 'refused' }])
      const statuses = [done, failed, moved, canceled].map((task) => statusOf(gate, task))
      expect(await Promise.all(statuses)).toEqual(['succeeded', 'failed', 'running', 'canceled'])

      const { tasks } = await gate.listTasks(agent(), { limit: 200 })
      expect(tasks.filter((task) => task.type === 'poison')).toEqual([])
      expect(await openTasks(gate)).toHaveLength(8 + 8 + 2)
      expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
    },
  )

  it('a refused create leaves its idempotency key unused', async () => {
    const spoiler = spoilCreates({ owner: null })
    const { gate } = await open({ wrap: spoiler.wrap })
    const input = { type: 'poison', idempotency_key: 'once' }
    expect(await refusal(ask(gate, input))).toMatchObject({ code: 'INTERNAL_ERROR', retryable: false })
    spoiler.active = false
    const created = await ask(gate, input)
    expect(created.is_duplicate).toBe(false)
    expect(await receiptTypes(gate, created)).toEqual(['task.assigned'])
  })

  it('a refused completion does not change its task', async () => {
    const { gate, store } = await open({ wrap: spoilEndings().wrap })
    const offers = [await hold(gate), await hold(gate), await hold(gate)]
    const answers = await Promise.all([
      finish(gate, at(offers, 0)),
      refusal(finish(gate, at(offers, 1), { result: 'poison' })),
      finish(gate, at(offers, 2)),
    ])
    expect(answers).toMatchObject([{ ok: true }, { code: 'INTERNAL_ERROR' }, { ok: true }])
    expect(await statusOf(gate, at(offers, 1))).toBe('leased')
    expect(await finish(gate, at(offers, 1), { result: 'good' })).toMatchObject({ ok: true })
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })
})

/** COMMIT with its terminator, which distinguishes it from the COMMITTED of BEGIN. */
const COMMIT = 'COMMIT\0'

describe.skipIf(!postgresUrl())('connection lost between COMMIT and its response', () => {
  let database: FreshDatabase
  let proxy: TcpProxy
  let store: Store
  let gate: Gate

  beforeEach(async () => {
    database = await freshDatabase('cut')
    proxy = await startTcpProxy(database.url)
    store = await openPostgresStore({ url: proxy.url })
    gate = openGate({ store, sweeping: false })
  })
  afterEach(async () => {
    await gate.close()
    await proxy.close()
    await database.drop()
  })

  /** The caller sees the same error whether or not COMMIT reached the server. */
  const ways = [
    { committed: true, reaching: 'server' },
    { committed: false, reaching: 'nothing' },
  ] as const

  it.each(ways)('a repeated create gives one task; committed: $committed', async (way) => {
    await ask(gate)
    const input = { type: 'cut', idempotency_key: 'once' }
    proxy.cutAt(COMMIT, way.reaching)
    expect(await refusal(ask(gate, input))).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true })

    const again = await ask(gate, input)
    expect(again.is_duplicate).toBe(way.committed)
    expect(await ask(gate, input)).toEqual({ ...again, is_duplicate: true })
    const { tasks } = await gate.listTasks(agent(), { type: 'cut' })
    expect(tasks.map((task) => task.task_id)).toEqual([again.task_id])
    expect(await receiptTypes(gate, again)).toEqual(['task.assigned'])
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })

  it.each(ways)('a repeated complete ends the task once; committed: $committed', async (way) => {
    const offer = await hold(gate)
    proxy.cutAt(COMMIT, way.reaching)
    expect(await refusal(finish(gate, offer))).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true })

    const again = await finish(gate, offer)
    expect(again).toMatchObject({ ok: true, obligation_open: false })
    expect(await finish(gate, offer)).toEqual(again)
    expect(await statusOf(gate, offer)).toBe('succeeded')
    const types = await receiptTypes(gate, offer)
    expect(types.filter((type) => type === 'task.completed')).toHaveLength(1)
    expect(await openTasks(gate)).toEqual([])
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })
})
