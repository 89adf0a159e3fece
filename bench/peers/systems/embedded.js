import { openGate, openPostgresStore, openSqliteStore } from '../../../dist/index.js'

const AGENT = { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' }
const LOOPS = 8
/** The largest claim that a gate accepts. */
const CLAIM = 100

export async function open({ store, address, payload, result, artifacts, started, finished }) {
  const opened =
    store === 'sqlite' ? await openSqliteStore({ path: address }) : await openPostgresStore({ url: address })
  const gate = openGate({ store: opened })
  let stopping = new AbortController()

  async function work(worker_id, signal) {
    const worker = { tenant: 'default', principal: { kind: 'worker', id: worker_id }, role: 'worker' }
    while (!signal.aborted) {
      const claim = { worker_id, max_tasks: CLAIM, wait_seconds: 20 }
      const { tasks } = await gate.leaseNext(worker, claim, signal)
      if (tasks.length === 0) continue
      for (const task of tasks) started(task.payload.n)
      const items = tasks.map(({ task_id, lease_id, payload: { n } }) => ({
        worker_id,
        task_id,
        lease_id,
        result: { ...result, n },
        artifacts,
      }))
      const { results } = await gate.completeMany(worker, { items })
      for (const outcome of results) if (outcome.ok !== true) throw new Error(JSON.stringify(outcome))
      finished(results.length)
    }
  }

  return {
    batch: 1000,
    bulkCallers: 4,
    enqueue: (n) => gate.createTask(AGENT, { type: 'noop', payload: { ...payload, n } }),
    async enqueueMany(numbers) {
      const tasks = numbers.map((n) => ({ type: 'noop', payload: { ...payload, n } }))
      const { results } = await gate.createTasks(AGENT, { tasks })
      for (const outcome of results) {
        if (outcome.task_id === undefined) throw new Error(JSON.stringify(outcome))
      }
    },
    async startWorkers() {
      stopping = new AbortController()
      for (let i = 0; i < LOOPS; i++) {
        work(`worker.${i}`, stopping.signal).catch((error) => {
          if (!stopping.signal.aborted) throw error
        })
      }
    },
    async stopWorkers() {
      stopping.abort()
    },
  }
}
