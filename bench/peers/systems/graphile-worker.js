const SETTINGS = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}

export async function open({ load, address, payload, started, finished }) {
  const { run, makeWorkerUtils, Logger } = (await load('graphile-worker')).default
  const logger = new Logger(() => () => {})
  const preset = { worker: { ...SETTINGS, connectionString: address, logger } }
  const utils = await makeWorkerUtils({ preset })
  await utils.migrate()
  const taskList = {
    noop({ n }) {
      started(n)
      finished(1)
    },
  }
  let runner
  return {
    batch: 1000,
    bulkCallers: 4,
    enqueue: (n) => utils.addJob('noop', { ...payload, n }),
    enqueueMany: (numbers) =>
      utils.addJobs(numbers.map((n) => ({ identifier: 'noop', payload: { ...payload, n } }))),
    async startWorkers() {
      runner = await run({ preset, taskList, noHandleSignals: true })
    },
    stopWorkers: () => runner.stop(),
  }
}
