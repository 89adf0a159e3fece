import { client } from '../client/index.ts'
import type { GateAddress } from '../client/transport.ts'
import { type Logger, type Worker, worker } from '../worker/index.ts'
import { controlTasks } from './control.ts'
import { scheduleGate } from './gate.ts'
import { openScheduleStore } from './store.ts'
import { Ticker } from './ticker.ts'

/**
 * The name of every scheduler of a gate: what one has taken on, another on the same file or on its backup can speak
 * for.
 */
export const WORKER_ID = 'scheduler'

/** A control task takes moments; one whose scheduler died is soon with another. */
const LEASE_SECONDS = 30

export interface SchedulerOptions extends GateAddress {
  /** The file that keeps the schedules. */
  readonly path: string
  readonly logger: Logger
  readonly workerId?: string | undefined
  readonly now?: (() => number) | undefined
}

export interface Scheduler {
  /** Takes control tasks and fires what is due, until the signal aborts. Rejects if the server refuses it. */
  run(options?: { readonly signal?: AbortSignal }): Promise<void>
}

/** A scheduler over its own file, at a gate that it knows only as a worker and a client. */
export async function openScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { path, logger, now, workerId = WORKER_ID, ...address } = options
  const store = await openScheduleStore(path)
  const gate = scheduleGate(client(address), workerId)
  const ticker = new Ticker({ store, gate, log: logger, now })
  const tasks = controlTasks({ store, gate, now, onChange: () => ticker.poke() })
  const hand: Worker = worker({
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
        await hand.run(signal === undefined ? {} : { signal })
      } finally {
        await ticker.stop()
        store.close()
      }
    },
  }
}
