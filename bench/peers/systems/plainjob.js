import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'

const WORKER = fileURLToPath(new URL('./plainjob-worker.js', import.meta.url))
const POLL_MS = 100

/** One worker process per core, as its documentation recommends; this process enqueues. */
export async function open({ load, packageUrl, address, payload, started, finished }) {
  const { better, defineQueue } = await load('plainjob')
  const logger = { error: console.error, warn() {}, info() {}, debug() {} }
  const queue = defineQueue({ connection: better(new Database(address)), logger })
  let workers = []
  /** The peak memory of each worker process, by process id. */
  const peaks = new Map()

  async function startWorker() {
    const worker = fork(WORKER, [packageUrl('plainjob'), address, String(POLL_MS)])
    await once(worker, 'message')
    worker.on('message', ({ numbers, memory }) => {
      peaks.set(worker.pid, memory)
      for (const n of numbers) started(n)
      finished(numbers.length)
    })
    return worker
  }

  return {
    batch: 1000,
    bulkCallers: 1,
    pollMs: POLL_MS,
    async enqueue(n) {
      queue.add('noop', { ...payload, n })
    },
    async enqueueMany(numbers) {
      queue.addMany(
        'noop',
        numbers.map((n) => ({ ...payload, n })),
      )
    },
    async startWorkers() {
      workers = await Promise.all(Array.from({ length: availableParallelism() }, startWorker))
      for (const worker of workers) worker.send('start')
    },
    async stopWorkers() {
      peaks.clear()
      await Promise.all(
        workers.map((worker) => {
          const ended = once(worker, 'exit')
          worker.disconnect()
          return ended
        }),
      )
    },
    workerMemory: () => [...peaks.values()].reduce((sum, peak) => sum + peak, 0),
  }
}
