import { describe, expect, it } from 'vitest'
import { MAX_LANES_PER_OWNER } from '../../src/core/matching.ts'
import { Waiter } from '../../src/engine/waiters.ts'
import type { Gate } from '../../src/features/gate.ts'
import type { Need, Store } from '../../src/store/store.ts'
import { turns } from '../simulation/dice.ts'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import {
  ask,
  Barrier,
  claim,
  expire,
  finish,
  hold,
  lease,
  only,
  override,
  refusal,
  statusOf,
} from '../support/steps.ts'

const MALLORY = agent('mallory')
const ALICE = agent('alice')
const BOB = agent('bob')

/** Creates tasks of one owner; `input` gives the fields of task n. */
async function fill(gate: Gate, by: typeof ALICE, count: number, input: (n: number) => object) {
  const tasks = Array.from({ length: count }, (_, n) => ({ type: 'job', ...input(n) }))
  const { results } = await gate.createTasks(by, { tasks })
  return results.map((result) => {
    if ('task_id' in result) return result.task_id
    throw new Error(`refused: ${JSON.stringify(result)}`)
  })
}

function cancelAll(gate: Gate, by: typeof ALICE, ids: readonly string[]) {
  return Promise.all(ids.map((task_id) => gate.cancelTask(by, { task_id })))
}

async function numberOfLanes(store: Store): Promise<number> {
  const { tenant } = await store.tenant('default')
  return (await store.reads.counters(tenant)).lanes
}

async function expectSound(store: Store): Promise<void> {
  expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
}

describeGates('lanes', (open, storeName) => {
  it('lanes of ended tasks block no owner, and their numbers are reused', async () => {
    const { gate, store } = await open()
    const peak: number[] = []
    for (const first of [-1000, 0, -500]) {
      await cancelAll(gate, MALLORY, await fill(gate, MALLORY, 1000, (n) => ({ priority: first + n })))
      await cancelAll(gate, MALLORY, await fill(gate, MALLORY, 200, (n) => ({ type: `t${first}-${n}` })))
      peak.push(await numberOfLanes(store))
    }
    expect(peak.at(-1)).toBe(peak[0])
    const { task_id } = await ask(gate, { type: 'report', priority: 1000 }, ALICE)
    expect(await lease(gate, { accept_types: ['report'] })).toMatchObject({ task_id })
    await expectSound(store)
  })

  it('an owner at the lane limit does not affect other owners, also on another server', async () => {
    const { gate, store, another } = await open()
    const ids = await fill(gate, MALLORY, MAX_LANES_PER_OWNER, (n) => ({ priority: n }))
    const again = storeName === 'postgres' ? await another() : undefined
    for (const each of [gate, ...(again === undefined ? [] : [again.gate])]) {
      expect(await refusal(ask(each, { type: 'one-too-many' }, MALLORY))).toEqual({
        error: 'quota_exceeded',
        code: 'QUOTA_EXCEEDED',
        message:
          'The open tasks of agent:mallory have 1000 different combinations of type, capabilities, priority and concurrency key. One owner cannot have more at a time.',
        hint: expect.stringContaining('cancel'),
        retryable: true,
        details: { quota: 'lanes_per_owner', limit: 1000, owner: 'agent:mallory' },
      })
      // A task in an existing lane needs no new lane.
      await ask(each, { priority: 7 }, MALLORY)
      for (const by of [ALICE, BOB]) {
        await ask(each, { type: `new type of ${by.principal.id}` }, by)
        await ask(each, { priority: -9 }, by)
        await ask(each, { requirements: { capabilities: [`new of ${by.principal.id}`] } }, by)
      }
    }
    await cancelAll(gate, MALLORY, ids.slice(0, 1))
    await ask(gate, { type: 'in its place' }, MALLORY)
    expect(await refusal(ask(gate, { type: 'one-too-many' }, MALLORY))).toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    await expectSound(store)
  })

  it('tasks blocked by a rule create no lanes and do not count against the limit', async () => {
    const { gate, store } = await open()
    await gate.putPolicy(admin(), { id: 'no-spam', action: 'BLOCK', scope: { type: 'spam*' } })
    const tasks = Array.from({ length: 1100 }, (_, n) => ({ type: `spam-${n}`, priority: n % 7 }))
    const before = await numberOfLanes(store)
    for (const part of [tasks.slice(0, 1000), tasks.slice(1000)]) {
      const { results } = await gate.createTasks(MALLORY, { tasks: part })
      expect(new Set(results.map((result) => 'code' in result && result.code))).toEqual(
        new Set(['POLICY_BLOCKED']),
      )
    }
    expect(await numberOfLanes(store)).toBe(before)
    // At the lane limit the rule is still reported first.
    await fill(gate, MALLORY, MAX_LANES_PER_OWNER, (n) => ({ priority: n }))
    expect(await refusal(ask(gate, { type: 'spam' }, MALLORY))).toMatchObject({ code: 'POLICY_BLOCKED' })
    await expectSound(store)
  })

  it('the lane limit survives a restart', async () => {
    const { gate, another } = await open()
    const ids = await fill(gate, MALLORY, MAX_LANES_PER_OWNER, (n) => ({ type: `t${n}` }))
    await gate.close()
    const { gate: restarted, store } = await another()
    expect(await refusal(ask(restarted, { type: 'more' }, MALLORY))).toMatchObject({
      details: { quota: 'lanes_per_owner' },
    })
    await ask(restarted, { type: 'report' }, ALICE)
    await cancelAll(restarted, MALLORY, ids)
    await ask(restarted, { type: 'more' }, MALLORY)
    await expectSound(store)
  })

  it('a lane does not count for an owner without tasks in it, even if other owners use it', async () => {
    const { gate, store } = await open()
    const mine = await fill(gate, ALICE, MAX_LANES_PER_OWNER, (n) => ({ priority: n }))
    await fill(gate, MALLORY, MAX_LANES_PER_OWNER, (n) => ({ priority: n, delay_seconds: 3600 }))
    await cancelAll(gate, ALICE, mine)
    await ask(gate, { type: 'report' }, ALICE)
    await expectSound(store)
  })

  it('a requeued task returns to its lane at the lane limit', async () => {
    const { gate, clock, store } = await open()
    const offer = await hold(gate, { type: 'first' })
    await fill(gate, ALICE, MAX_LANES_PER_OWNER - 1, (n) => ({ priority: 1 + n }))
    expect(await refusal(ask(gate, { type: 'more' }, ALICE))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await expire(gate, clock)
    expect(await lease(gate, { accept_types: ['first'] })).toMatchObject({ task_id: offer.task_id })
    await expectSound(store)
  })

  it('a reused lane number has only the tasks and events of its new lane', async () => {
    const { gate, store } = await open()
    const offer = await hold(gate, { type: 'old' })
    await finish(gate, offer, { artifacts: undefined })
    const events: string[] = []
    // Enough lanes that the numbers of empty lanes are reused.
    await cancelAll(gate, ALICE, await fill(gate, ALICE, 1000, (n) => ({ priority: -1 - n })))
    const ids = await fill(gate, BOB, 1000, (n) => ({ type: `new${n}`, priority: 500 }))
    gate.onTask((event) => events.push(event.type))
    await finish(gate, offer)
    expect(events).toEqual(['old'])
    const offers = await Promise.all(
      ids.slice(0, 50).map((_, n) => lease(gate, { accept_types: [`new${n}`] }, worker(`w${n}`))),
    )
    expect(offers.map(({ task_id, type }) => [task_id, type])).toEqual(
      ids.slice(0, 50).map((id, n) => [id, `new${n}`]),
    )
    await expectSound(store)
  })

  it('claims see lanes that are created in the same batch', async () => {
    const commits = new Barrier()
    const needs: Need[] = []
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          commit: async (need, decide) => {
            needs.push(need)
            await commits.pass()
            return store.commit(need, decide)
          },
        }),
    })
    await ask(gate, { type: 'other' })
    await claim(gate)
    commits.shut()
    const first = ask(gate, { type: 'other' })
    await commits.arrival()
    // These wait for the first commit and share the next one.
    const created = ask(gate, { type: 'new', priority: 3, requirements: { capabilities: ['gpu'] } })
    await turns(40)
    const claimed = claim(gate, { accept_types: ['new'], capabilities: ['gpu'] })
    await turns(40)
    const before = needs.length
    commits.open()
    await first
    expect(only(await claimed).task_id).toBe((await created).task_id)
    expect(needs.length).toBe(before + 1)
  })

  it('a claim loads no lanes without ready tasks', async () => {
    const needs: Need[] = []
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          commit: (need, decide) => {
            needs.push(need)
            return store.commit(need, decide)
          },
        }),
    })
    await cancelAll(gate, ALICE, await fill(gate, ALICE, 100, (n) => ({ priority: n })))
    await fill(gate, ALICE, 100, (n) => ({ priority: n, delay_seconds: 60 }))
    await fill(gate, ALICE, 100, (n) => ({ type: 'other', priority: n }))
    needs.length = 0
    expect(await claim(gate, { accept_types: ['job'] })).toEqual([])
    expect(needs.map(({ heads }) => heads)).toEqual([[]])
  })

  it('a claim loads lanes of low priority only after those of high priority are empty', async () => {
    const loadedHeads: number[] = []
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          commit: (need, decide) =>
            store.commit(need, (loaded) => {
              loadedHeads.push(loaded.heads.length)
              return decide(loaded)
            }),
        }),
    })
    const ids = await fill(gate, ALICE, 900, (n) => ({ priority: n }))
    loadedHeads.length = 0
    expect(await lease(gate, { accept_types: ['job'] })).toMatchObject({ task_id: ids.at(-1) })
    expect(Math.max(...loadedHeads)).toBeLessThan(50)
    const many = await claim(gate, { accept_types: ['job'], max_tasks: 100 })
    expect(many.map((task) => task.task_id)).toEqual(ids.slice(-101, -1).reverse())
  })

  it.runIf(storeName === 'postgres')('two servers share one set of lanes', async () => {
    const { gate, store, another } = await open()
    const { gate: elsewhere } = await another()
    await ask(gate, { type: 'first' })
    expect(await lease(elsewhere, { accept_types: ['first'] })).toMatchObject({ type: 'first' })
    // More lanes than the cache keeps, so that each server reuses numbers that the other knows under another name.
    for (const round of [0, 1, 2]) {
      const [one, other] = round % 2 === 0 ? [gate, elsewhere] : [elsewhere, gate]
      const ids = await fill(one, ALICE, 600, (n) => ({ type: `r${round}`, priority: n }))
      expect(await lease(other, { accept_types: [`r${round}`] })).toMatchObject({ task_id: ids.at(-1) })
      expect(await claim(other, { accept_types: [`r${round - 1}`] })).toEqual([])
      await cancelAll(other, ALICE, ids)
    }
    const task = await ask(elsewhere, { type: 'last' })
    expect(await lease(gate)).toMatchObject({ task_id: task.task_id })
    expect(await statusOf(elsewhere, task)).toBe('leased')
    await expectSound(store)
  })
})

describe('profile of a waiting claim', () => {
  const profile = (accept_types: string[] | undefined, capabilities: string[] = []) =>
    new Waiter(1, { accept_types, capabilities }).profile

  it('equal sets of types and capabilities have the same profile, in any order and with repeats', () => {
    expect(profile(['b', 'a', 'b'], ['y', 'x'])).toBe(profile(['a', 'b'], ['x', 'y', 'x']))
  })

  it('different sets have different profiles', () => {
    const all = [
      profile(undefined),
      profile([]),
      profile(['a']),
      profile(undefined, ['a']),
      profile(['a', 'b']),
    ]
    expect(new Set(all).size).toBe(all.length)
  })
})
