import type { Report } from '../report.ts'
import { median, times } from '../stats.ts'
import { type Databases, openGateOn, type StoreName } from './databases.ts'
import { addDoneTasks } from './fill.ts'
import { AGENT, newPayload, workerCaller } from './lifecycle.ts'
import type { Sample } from './sample.ts'

const CLOSED = 100_000
const OPEN = 10
const ROUNDS = 5

/** The cost of listing open obligations, with and without many closed ones. */
export async function obligations(
  report: Report,
  databases: Databases,
  store: StoreName,
  sample: Sample,
): Promise<void> {
  const sides = []
  for (const closed of [0, CLOSED]) {
    const database = await databases.create(store)
    const filler = await openGateOn(database)
    for (let i = 0; i < OPEN; i++)
      await filler.createTask(AGENT, { type: 'summarise', payload: newPayload() })
    await filler.close()
    if (closed > 0) await addDoneTasks(database, sample, closed)
    sides.push({ database, gate: await openGateOn(database), taken: [] as number[] })
  }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { gate, taken } of sides) {
      const some = await times(100, async () => {
        const { open_obligations } = await gate.listOpenObligations(AGENT)
        if (open_obligations.length !== OPEN) throw new Error('the obligations are wrong')
      })
      if (round > 0) taken.push(...some)
    }
  }
  const [none, many] = sides.map((side) => median(side.taken))
  if (none === undefined || many === undefined) return
  report.add({
    name: `${store}: 10 open obligations, 100,000 closed`,
    value: many / none,
    unit: 'x of none',
    note: `${many.toFixed(2)} ms against ${none.toFixed(2)} ms`,
    target: { atMost: 1.5 },
  })
  for (const { gate, database } of sides) {
    await gate.close()
    await database.drop()
  }
}

/** The time from create to the response of a claim that was waiting. */
export async function pickUp(report: Report, databases: Databases, store: StoreName): Promise<void> {
  const database = await databases.create(store)
  const gate = await openGateOn(database)
  const taken: number[] = []
  for (let i = 0; i < 150; i++) {
    const waiting = gate.leaseNext(workerCaller('worker-1'), { worker_id: 'worker-1', wait_seconds: 20 })
    await new Promise((resolve) => setTimeout(resolve, 10))
    const [ms] = await times(1, async () => {
      await gate.createTask(AGENT, { type: 'summarise', payload: newPayload() })
      const { tasks } = await waiting
      if (tasks.length !== 1) throw new Error('the waiting claim got nothing')
    })
    if (i >= 30) taken.push(ms ?? 0)
  }
  report.add({
    name: `${store}: idle pick-up p50`,
    value: median(taken),
    unit: 'ms',
    target: { atMost: store === 'sqlite' ? 5 : 10 },
  })
  await gate.close()
  await database.drop()
}
