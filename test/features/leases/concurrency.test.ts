import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import type { OfferView } from '../../../src/features/leases/shape.ts'
import { admin, agent, describeGates, type Open, worker } from '../../support/gates.ts'
import { ask, claim, finish, held, only, statusOf } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const limit = (gate: Gate, concurrency: Fields, type = 'job') =>
  gate.registerTaskType(admin(), { type, concurrency })
const of = (customer: string, more: Fields = {}) => ({ payload: { customer }, ...more })
const customerOf = ({ payload }: OfferView) => String((payload as { customer: unknown }).customer)
const customers = async (gate: Gate, input: Fields = {}) =>
  (await claim(gate, { max_tasks: 100, ...input })).map(customerOf)

describeGates('limits of concurrent tasks', (open) => {
  it('no more tasks of a type are leased than its limit, by claims for the type and for any type', async () => {
    const { gate } = await open()
    await limit(gate, { limit: 2 })
    for (let i = 0; i < 5; i++) await ask(gate)
    const first = await claim(gate, { max_tasks: 10 })
    expect(first).toHaveLength(2)
    expect(await claim(gate, { max_tasks: 10, accept_types: ['job'] })).toEqual([])
    const other = await ask(gate, { type: 'other' })
    expect(only(await claim(gate, { max_tasks: 10 })).task_id).toBe(other.task_id)
    await finish(gate, only(first.slice(0, 1)))
    expect(await claim(gate, { max_tasks: 10, accept_types: ['job'] })).toHaveLength(1)
    expect(await claim(gate, { max_tasks: 10 })).toEqual([])
  })

  it('a key at its limit does not block the tasks of other keys behind it', async () => {
    const { gate } = await open()
    await limit(gate, { limit: 1, key: 'customer' })
    for (let i = 0; i < 50; i++) await ask(gate, of('a'))
    await ask(gate, of('b'))
    await ask(gate)
    await ask(gate)
    expect(await customers(gate)).toEqual(['a', 'b', 'undefined'])
    expect(await customers(gate)).toEqual([])
  })

  it('every end of a lease makes room: completion, failure, release, cancellation, expiry', async () => {
    const { gate, clock } = await open()
    await limit(gate, { limit: 1, key: 'customer' })
    for (let i = 0; i < 8; i++) await ask(gate, of('a'))
    const next = async () => only(await claim(gate, { max_tasks: 10 }))
    await finish(gate, await next())
    await gate.fail(worker(), { ...held(await next()), error: { message: 'no' }, retryable: false })
    const released = await next()
    await gate.releaseLease(worker(), held(released))
    const canceled = await next()
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    const expired = await next()
    clock.advance(120)
    await gate.sweep()
    expect(await statusOf(gate, expired)).toBe('queued')
    const last = await next()
    expect(last.task_id).not.toBe(expired.task_id)
  })

  it('the limit counts leases of all priorities and capabilities, and the higher priority is first', async () => {
    const { gate } = await open()
    await limit(gate, { limit: 1, key: 'customer' })
    await ask(gate, of('a', { priority: 1 }))
    const high = await ask(gate, of('a', { priority: 9 }))
    await ask(gate, of('a', { requirements: { capabilities: ['gpu'] } }))
    const first = await claim(gate, { max_tasks: 10, capabilities: ['gpu'] })
    expect(first.map(({ task_id }) => task_id)).toEqual([high.task_id])
    expect(await claim(gate, { max_tasks: 10, capabilities: ['gpu'] })).toEqual([])
  })

  it('a changed limit applies from the next task of the key', async () => {
    const { gate } = await open()
    await limit(gate, { limit: 1 })
    for (let i = 0; i < 4; i++) await ask(gate)
    expect(await claim(gate, { max_tasks: 10 })).toHaveLength(1)
    await limit(gate, { limit: 3 })
    await ask(gate)
    expect(await claim(gate, { max_tasks: 10 })).toHaveLength(2)
  })

  it('a waiting claim gets a task as soon as its key has room', async () => {
    const { gate } = await open()
    await limit(gate, { limit: 1, key: 'customer' })
    await ask(gate, of('a', { priority: 5 }))
    const running = only(await claim(gate))
    const second = await ask(gate, of('a'))
    const waiting = claim(gate, { wait_seconds: 20, accept_types: ['job'] })
    await finish(gate, running)
    expect(only(await waiting).task_id).toBe(second.task_id)
  })

  it('limits survive a restart', async () => {
    const { gate, another } = await open()
    await limit(gate, { limit: 1, key: 'customer' })
    for (let i = 0; i < 3; i++) await ask(gate, of('a'))
    const running = only(await claim(gate, { max_tasks: 10 }))
    await gate.close()
    const { gate: next } = await another()
    expect(await claim(next, { max_tasks: 10 })).toEqual([])
    await finish(next, running)
    expect(await claim(next, { max_tasks: 10 })).toHaveLength(1)
  })

  it('1,000 tasks of 100 keys: never more at once than allowed', async () => {
    await runMany(open, 1)
  })
})

describeGates(
  'limits of concurrent tasks on two servers',
  (open) => {
    it('1,000 tasks of 100 keys: never more at once than allowed', async () => {
      await runMany(open, 2)
    })
  },
  ['postgres'],
)

/** Workers on each server claim and complete all tasks, while the leases of each key are counted. */
async function runMany(open: Open, servers: number): Promise<void> {
  const LIMIT = 3
  const bench = await open()
  const gates = [bench.gate]
  while (gates.length < servers) gates.push((await bench.another()).gate)
  await limit(bench.gate, { limit: LIMIT, key: 'customer' })
  const tasks = Array.from({ length: 1000 }, (_, i) => ({ type: 'job', ...of(`c${i % 100}`) }))
  await bench.gate.createTasks(agent(), { tasks })
  const running = new Map<string, number>()
  let [done, most] = [0, 0]
  const work = async (gate: Gate) => {
    while (done < tasks.length) {
      const offers = await claim(gate, { max_tasks: 40, accept_types: ['job'] })
      for (const offer of offers) {
        const count = (running.get(customerOf(offer)) ?? 0) + 1
        running.set(customerOf(offer), count)
        most = Math.max(most, count)
      }
      await Promise.all(
        offers.map(async (offer) => {
          // Counted down before the server knows, so that a count that is too high is never an artifact of the test.
          running.set(customerOf(offer), (running.get(customerOf(offer)) ?? 0) - 1)
          await finish(gate, offer)
          done++
        }),
      )
    }
  }
  await Promise.all(gates.flatMap((gate) => [work(gate), work(gate)]))
  expect(done).toBe(1000)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(LIMIT)
}
