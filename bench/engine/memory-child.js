// Serves the given database with the built package, and prints its resident memory in bytes.
import { openGate, openPostgresStore, openSqliteStore } from '../../dist/index.js'

const [kind, address] = process.argv.slice(2)
const store =
  kind === 'sqlite' ? await openSqliteStore({ path: address }) : await openPostgresStore({ url: address })
const gate = openGate({ store, sweeping: false })
const agent = { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' }
const worker = { tenant: 'default', principal: { kind: 'worker', id: 'w' }, role: 'worker' }

for (let round = 0; round < 40; round++) {
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      await gate.createTask(agent, { type: 'summarise', payload: { round } })
      const { tasks } = await gate.leaseNext(worker, { worker_id: 'w' })
      for (const { task_id, lease_id } of tasks) {
        await gate.complete(worker, {
          worker_id: 'w',
          task_id,
          lease_id,
          result: { round },
          artifacts: [{ url: 's3://b/k' }],
        })
      }
    }),
  )
}
console.log(process.memoryUsage.rss())
await gate.close()
