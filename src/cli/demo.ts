import { parseArgs } from 'node:util'
import type { Caller } from '../core/principal.ts'
import { type Gate, openGate } from '../gate/gate.ts'
import type { OfferView } from '../gate/shapes.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'

/** A tenant of its own for every run, so that nothing of an earlier one gets in the way. */
const tenant = `demo-${Date.now()}`
const agent: Caller = { tenant, principal: { kind: 'agent', id: 'alice' }, role: 'agent' }

/** Two scenes on a real database file: the ordinary way of a task, and what happens when a worker dies. */
export async function demo(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { db: { type: 'string', default: '.asyncgate/demo.db' } },
  })
  const store = await openSqliteStore({ path: values.db })
  const gate = openGate({ store, settings: { lease_sweep_interval_seconds: 1 }, onError: console.error })
  console.log(`AsyncGate demo, kept in ${values.db}\n`)
  await goldenPath(gate)
  await crashRecovery(gate)
  await gate.close()
}

async function goldenPath(gate: Gate): Promise<void> {
  console.log('1. alice hands over a task and goes on')
  const { task_id } = await gate.create(agent, { type: 'summarise', payload: { document: 'report.pdf' } })
  console.log(`   task ${task_id} is queued; alice is owed ${await owed(gate, task_id)} answer`)

  console.log('2. a worker leases it, reports progress and completes it')
  const bob = worker('bob')
  const offer = await take(gate, bob)
  await gate.progress(bob, { ...lease(offer, 'bob'), progress: { percent: 50, message: 'half way' } })
  await gate.complete(bob, {
    ...lease(offer, 'bob'),
    result: { summary: 'All is well.' },
    artifacts: [{ type: 'file', url: 'file:///tmp/summary.txt' }],
  })

  console.log('3. alice waits for it and reads the ledger')
  const task = await gate.waitForTask(agent, { task_id })
  console.log(`   status ${task.status}, result ${JSON.stringify(task.result?.result)}`)
  await printReceipts(gate, task_id)
  console.log(`   alice is owed ${await owed(gate, task_id)} answers: the obligation is closed\n`)
}

async function crashRecovery(gate: Gate): Promise<void> {
  console.log('4. a worker takes a task with a lease of one second, and dies')
  const { task_id } = await gate.create(agent, { type: 'summarise', payload: { document: 'next.pdf' } })
  const mallory = worker('mallory')
  const lost = await take(gate, mallory, 1)

  console.log('5. the lease lapses, and another worker waits for work')
  const carol = worker('carol')
  const offer = await take(gate, carol)
  console.log(`   carol has it under fence ${offer.fence} (it was ${lost.fence}); no attempt was spent`)
  const late = await gate
    .complete(mallory, { ...lease(lost, 'mallory'), result: 'too late' })
    .catch((fault: unknown) => fault)
  console.log(`   mallory comes back and is refused: ${late instanceof Error ? late.message : ''}`)
  await gate.complete(carol, {
    ...lease(offer, 'carol'),
    result: 'done',
    artifacts: [{ url: 'file:///tmp/next.txt' }],
  })
  await printReceipts(gate, task_id)
  console.log(`   alice is owed ${await owed(gate, task_id)} answers`)
}

function worker(id: string): Caller {
  return { tenant, principal: { kind: 'worker', id }, role: 'worker' }
}

function lease({ task_id, lease_id }: OfferView, worker_id: string) {
  return { task_id, lease_id, worker_id }
}

async function take(gate: Gate, caller: Caller, lease_ttl_seconds = 60): Promise<OfferView> {
  const worker_id = caller.principal.id
  const { tasks } = await gate.claim(caller, { worker_id, lease_ttl_seconds, wait_seconds: 30 })
  const [offer] = tasks
  if (offer === undefined) throw new Error('There was no work within 30 s.')
  console.log(`   ${worker_id} leases ${offer.task_id} for ${offer.expires_in_ms / 1000} s`)
  return offer
}

async function owed(gate: Gate, task_id: string): Promise<number> {
  const { open_obligations } = await gate.listObligations(agent, { limit: 200 })
  return open_obligations.filter((receipt) => receipt.task_id === task_id).length
}

async function printReceipts(gate: Gate, task_id: string): Promise<void> {
  const { receipts } = await gate.listReceipts(agent, { task_id })
  for (const receipt of receipts) {
    const route = `${receipt.from.kind}:${receipt.from.id} -> ${receipt.to.kind}:${receipt.to.id}`
    console.log(`   #${String(receipt.seq).padEnd(4)} ${receipt.receipt_type.padEnd(18)} ${route}`)
  }
}
