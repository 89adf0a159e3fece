import Database from 'better-sqlite3'

const POLL_MS = 100

export async function open({ load, address, payload, started, finished }) {
  const { better, defineQueue, defineWorker } = await load('plainjob')
  const logger = { error: console.error, warn() {}, info() {}, debug() {} }
  const queue = defineQueue({ connection: better(new Database(address)), logger })
  let worker
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
      const handle = ({ data }) => {
        started(JSON.parse(data).n)
        finished(1)
      }
      worker = defineWorker('noop', handle, { queue, logger, pollIntervall: POLL_MS })
      worker.start()
    },
    stopWorkers: () => worker.stop(),
  }
}
