import { client } from '../client/index.ts'
import type { GateAddress } from '../client/transport.ts'
import { type Logger, type Worker, worker } from '../worker/index.ts'
import { controlTasks } from './control.ts'
import { scheduleGate } from './gate.ts'
import { openScheduleStore, type ScheduleStore } from './store.ts'
import { Ticker } from './ticker.ts'

/** All schedulers of a server share this name, so that one with the same file, or a backup of it, can replace another. */
export const WORKER_ID = 'scheduler'

/** Short, because control tasks are: after a crash another scheduler gets the task soon. */
const LEASE_SECONDS = 30

interface RunnerOptions extends GateAddress {
  readonly logger: Logger
  readonly workerId?: string | undefined
  readonly now?: (() => number) | undefined
}

export interface SchedulerOptions extends RunnerOptions {
  /** The file with the schedules. */
  readonly path: string
}

export interface Scheduler {
  /** Runs control tasks and fires due runs until the signal is aborted. Rejects if the server refuses the worker. */
  run(options?: { readonly signal?: AbortSignal }): Promise<void>
}

/** A scheduler with its own file. It uses the server only as a worker and a client. */
export async function openScheduler({ path, ...options }: SchedulerOptions): Promise<Scheduler> {
  return schedulerOf(await openScheduleStore(path), options)
}

/** A scheduler with the given schedules, which it closes when it has ended. */
export function schedulerOf(store: ScheduleStore, options: RunnerOptions): Scheduler {
  const { logger, now, workerId = WORKER_ID, ...address } = options
  const gate = scheduleGate(client(address), workerId)
  const ticker = new Ticker({ store, gate, log: logger, now })
  const tasks = controlTasks({ store, gate, now, onChange: () => ticker.poke() })
  const controller: Worker = worker({
    ...address,
    tasks,
    workerId,
    logger,
    concurrency: 4,
    capabilities: ['scheduler'],
    leaseSeconds: LEASE_SECONDS,
    stopSeconds: 5,
    killSeconds: 2,
    signals: false,
  })
  return {
    async run({ signal } = {}) {
      ticker.start()
      try {
        await controller.run(signal === undefined ? {} : { signal })
      } finally {
        await ticker.stop()
        store.close()
      }
    },
  }
}
