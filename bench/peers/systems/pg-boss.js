const QUEUE = 'noop'
const WORKERS = 8
const POLL_MS = 500
/** Loops that fetch and complete; with version 10 they are faster than `work`. */
const LOOPS = 4
const FETCH = 500

export async function open({ load, address, payload, started, finished }) {
  const { default: PgBoss } = await load('pg-boss')
  const boss = new PgBoss({ connectionString: address, max: 20 })
  boss.on('error', (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(QUEUE)
  const handle = (jobs) => {
    for (const { data } of jobs) started(data.n)
  }
  let isDraining = false
  let loops = []
  async function drain() {
    while (isDraining) {
      const jobs = await boss.fetch(QUEUE, { batchSize: FETCH })
      if (jobs.length === 0) continue
      handle(jobs)
      await boss.complete(
        QUEUE,
        jobs.map((job) => job.id),
      )
      finished(jobs.length)
    }
  }
  return {
    batch: 1000,
    bulkCallers: 4,
    pollMs: POLL_MS,
    enqueue: (n) => boss.send(QUEUE, { ...payload, n }),
    enqueueMany: (numbers) => boss.insert(numbers.map((n) => ({ name: QUEUE, data: { ...payload, n } }))),
    async startWorkers(mode) {
      if (mode === 'bulk') {
        isDraining = true
        loops = Array.from({ length: LOOPS }, drain)
        return
      }
      const options = { batchSize: 1000, pollingIntervalSeconds: POLL_MS / 1000 }
      for (let i = 0; i < WORKERS; i++) {
        await boss.work(QUEUE, options, async (jobs) => {
          handle(jobs)
          finished(jobs.length)
        })
      }
    },
    async stopWorkers() {
      isDraining = false
      await Promise.all([boss.offWork(QUEUE), ...loops])
    },
  }
}
