import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, describeGates, worker } from '../../support/gates.ts'
import { ask, claim, finish, held, only } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const rated = (gate: Gate, rate: Fields, more: Fields = {}) =>
  gate.registerTaskType(admin(), { type: 'job', rate, ...more })
const take = async (gate: Gate, input: Fields = {}) =>
  (await claim(gate, { max_tasks: 100, ...input })).length

describeGates('rates of task types', (open) => {
  it('no more leases start in a window than the rate allows, by claims for the type and for any type', async () => {
    const { gate, clock } = await open()
    await rated(gate, { limit: 2, seconds: 60 })
    for (let i = 0; i < 5; i++) await ask(gate)
    const first = await claim(gate)
    clock.advance(30)
    expect(await take(gate, { accept_types: ['job'] })).toBe(1)
    await finish(gate, only(first))
    expect(await take(gate)).toBe(0)
    const other = await ask(gate, { type: 'other' })
    expect(only(await claim(gate, { max_tasks: 10 })).task_id).toBe(other.task_id)
    clock.advance(29)
    expect(await take(gate)).toBe(0)
    clock.advance(1)
    expect(await take(gate)).toBe(2)
    expect(await take(gate)).toBe(0)
    clock.advance(60)
    expect(await take(gate, { accept_types: ['job'] })).toBe(1)
  })

  it('a full rate does not hide tasks of a lower priority', async () => {
    const { gate } = await open()
    await rated(gate, { limit: 1, seconds: 60 })
    for (let i = 0; i < 40; i++) await ask(gate, { priority: 9 })
    const low = await ask(gate, { type: 'other', priority: -1 })
    const either = { accept_types: ['job', 'other'] }
    expect(only(await claim(gate, either)).type).toBe('job')
    expect(only(await claim(gate, either)).task_id).toBe(low.task_id)
    expect(await take(gate)).toBe(0)
  })

  it('with a key, the rate applies to each value, over all priorities, beside a limit of concurrent tasks', async () => {
    const { gate, clock } = await open()
    await rated(gate, { limit: 2, seconds: 60, key: 'customer' }, { concurrency: { limit: 3 } })
    for (const priority of [1, 2, 3]) await ask(gate, { payload: { customer: 'a' }, priority })
    for (const priority of [1, 2, 3]) await ask(gate, { payload: { customer: 'b' }, priority })
    const first = await claim(gate, { max_tasks: 10 })
    expect(first).toHaveLength(3)
    for (const offer of first) await finish(gate, offer)
    expect(await take(gate)).toBe(1)
    expect(await take(gate)).toBe(0)
    clock.advance(60)
    expect(await take(gate)).toBe(2)
  })

  it('a released task has used the rate', async () => {
    const { gate, clock } = await open()
    await rated(gate, { limit: 1, seconds: 10 })
    await ask(gate)
    await gate.releaseLease(worker(), held(only(await claim(gate))))
    expect(await take(gate)).toBe(0)
    clock.advance(10)
    expect(await take(gate)).toBe(1)
  })

  it('a rate survives a restart, and a changed one applies from the next task', async () => {
    const { gate, another } = await open()
    await rated(gate, { limit: 1, seconds: 60 })
    for (let i = 0; i < 4; i++) await ask(gate)
    expect(await take(gate)).toBe(1)
    await gate.close()
    const { gate: next } = await another()
    expect(await take(next)).toBe(0)
    await rated(next, { limit: 3, seconds: 60 })
    await ask(next)
    expect(await take(next)).toBe(2)
  })

  it('a waiting claim is woken when the window ends', async () => {
    const { gate } = await open({ realTime: true })
    await rated(gate, { limit: 1, seconds: 1 })
    for (let i = 0; i < 3; i++) await ask(gate)
    only(await claim(gate))
    const waiting = [1, 2].map(() => claim(gate, { wait_seconds: 30, accept_types: ['job'] }))
    const [one, two] = (await Promise.all(waiting)).map(only)
    const starts = [one, two].map((offer) => Date.parse(offer?.expires_at ?? '')).sort()
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(1000)
  })
})

describeGates(
  'rates of task types on two servers',
  (open) => {
    it('the servers share a rate', async () => {
      const { gate, another, clock } = await open()
      const { gate: second } = await another()
      await rated(gate, { limit: 3, seconds: 60 })
      for (let i = 0; i < 8; i++) await ask(gate)
      const turns = [gate, second, gate, second].map((each) => take(each, { max_tasks: 2 }))
      expect((await Promise.all(turns)).reduce((sum, count) => sum + count)).toBe(3)
      clock.advance(60)
      expect(await take(second)).toBe(3)
      expect(await take(gate)).toBe(0)
    })
  },
  ['postgres'],
)
