import type { Gate } from '../../dist/features/gate.js'
import type { Report } from '../report.ts'
import { median, times } from '../stats.ts'
import { type Database, type Databases, openGateOn, type StoreName } from './databases.ts'
import { fill } from './fill.ts'
import { workerCaller } from './lifecycle.ts'

const MILLION = 1_000_000
const READY = 1_000
const ROUNDS = 5
const CLAIMS_PER_ROUND = 60

/** The backlog besides the thousand tasks that can be claimed. */
const BACKLOGS = {
  'nothing else': null,
  '1,000,000 queued': { type: 'summarise' },
  '1,000,000 delayed': { type: 'summarise', delay_seconds: 86_400 },
  '1,000,000 that need another capability': { type: 'summarise', requirements: { capabilities: ['gpu'] } },
}

/**
 * Claim cost by queue size. The queues are measured in turn, so that changes of the machine's speed affect all of
 * them.
 */
export async function claimScaling(report: Report, databases: Databases, store: StoreName): Promise<void> {
  const queues: { name: string; database: Database; gate: Gate; taken: number[] }[] = []
  for (const [name, backlog] of Object.entries(BACKLOGS)) {
    const database = await databases.create(store)
    await fill(database, { type: 'summarise' }, READY)
    if (backlog !== null) await fill(database, backlog, MILLION)
    queues.push({ name, database, gate: await openGateOn(database), taken: [] })
  }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const queue of queues) {
      const taken = await times(CLAIMS_PER_ROUND, () => claimOne(queue.gate))
      // The first round warms caches and plans.
      if (round > 0) queue.taken.push(...taken)
    }
  }
  const base = median(queues[0]?.taken ?? [])
  for (const { name, taken } of queues) {
    const p50 = median(taken)
    report.add({
      name: `${store}: claim p50, ${name}`,
      value: p50 / base,
      unit: 'x of 1,000',
      note: `${p50.toFixed(2)} ms`,
      target: { atMost: 1.5 },
    })
  }
  for (const { gate, database } of queues) {
    await gate.close()
    await database.drop()
  }
}

let turn = 0

/** Every other claim accepts any type, so that both indexes are used. */
async function claimOne(gate: Gate): Promise<void> {
  const accept = ++turn % 2 === 0 ? { accept_types: ['summarise'] } : {}
  const { tasks } = await gate.leaseNext(workerCaller('worker-1'), { worker_id: 'worker-1', ...accept })
  if (tasks.length !== 1) throw new Error('a claim found nothing')
}
