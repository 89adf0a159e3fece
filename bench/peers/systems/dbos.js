const QUEUE = 'noop'
const POLL_MS = 100

export async function open({ load, address, payload, started, finished }) {
  const { DBOS } = (await load('@dbos-inc/dbos-sdk')).default
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: address,
    systemDatabasePoolSize: 20,
    logLevel: 'error',
  })
  const noop = DBOS.registerWorkflow(
    async ({ n }) => {
      started(n)
      finished(1)
    },
    { name: 'noop' },
  )
  await DBOS.launch()
  await DBOS.registerQueue(QUEUE, { minPollingIntervalMs: POLL_MS })
  const enqueue = (n) => DBOS.startWorkflow(noop, { queueName: QUEUE })({ ...payload, n })
  return {
    // Its public interface enqueues one workflow at a time, and its queues cannot be stopped.
    batch: 1,
    bulkCallers: 64,
    pollMs: POLL_MS,
    enqueue,
    enqueueMany: ([n]) => enqueue(n),
    async startWorkers() {},
    async stopWorkers() {},
  }
}
