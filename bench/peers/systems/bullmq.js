const CONCURRENCY = 100

export async function open({ load, address, payload, started, finished }) {
  const { Queue, Worker } = (await load('bullmq')).default
  const { hostname: host, port } = new URL(address)
  const connection = { host, port: Number(port), maxRetriesPerRequest: null }
  const queue = new Queue('noop', { connection })
  let worker
  return {
    batch: 1000,
    bulkCallers: 4,
    enqueue: (n) => queue.add('noop', { ...payload, n }),
    enqueueMany: (numbers) => queue.addBulk(numbers.map((n) => ({ name: 'noop', data: { ...payload, n } }))),
    async startWorkers() {
      const handle = async ({ data }) => {
        started(data.n)
        finished(1)
      }
      worker = new Worker('noop', handle, { connection, concurrency: CONCURRENCY })
      worker.on('error', (error) => {
        throw error
      })
      await worker.waitUntilReady()
    },
    stopWorkers: () => worker.close(),
  }
}
