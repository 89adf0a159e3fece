import { client } from '../../../dist/client/index.js'
import { task, worker } from '../../../dist/worker/index.js'

const CONCURRENCY = { live: 100, bulk: 400 }
/** How often the worker is asked for the number of tasks that the server has accepted as completed. */
const READ_MS = 2
/** Until the server has noticed that the last claim was aborted, and assigns it no task. */
const SETTLE_MS = 500

/** The worker and the client library over HTTP, in one process. */
export async function open({ key, address, payload, result, started, finished }) {
  const gate = client({ url: address, key, agent: 'alice' })
  const noop = task('noop', {
    run({ n }) {
      started(n)
      return { ...result, n }
    },
  })
  let stop
  return {
    batch: 100,
    bulkCallers: 16,
    enqueue: (n) => gate.createTask({ type: 'noop', payload: { ...payload, n } }),
    async enqueueMany(numbers) {
      const tasks = numbers.map((n) => ({ type: 'noop', payload: { ...payload, n } }))
      const { results } = await gate.createTasks({ tasks })
      for (const outcome of results) {
        if (outcome.task_id === undefined) throw new Error(JSON.stringify(outcome))
      }
    },
    async startWorkers(mode) {
      const options = { concurrency: CONCURRENCY[mode], logger: false, signals: false }
      const working = worker({ url: address, key, tasks: [noop], ...options })
      const running = working.run()
      let completed = 0
      const timer = setInterval(() => {
        const now = working.metrics().types.noop?.completed ?? 0
        if (now > completed) finished(now - completed)
        completed = now
      }, READ_MS)
      stop = async () => {
        clearInterval(timer)
        await working.stop()
        await running
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
      }
    },
    stopWorkers: () => stop(),
  }
}
