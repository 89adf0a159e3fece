import type { TaskChange } from '../client/operations.ts'
import type { Transport } from '../client/transport.ts'
import type { Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Publisher } from './publisher.ts'

/** The worker starts to claim without the event stream if the stream is not open by then. */
const OPEN_MS = 500

interface Deps {
  readonly transport: Transport
  readonly leases: Leases
  readonly log: WorkerLog
  readonly metrics: Metrics
  readonly publisher: Publisher
}

/**
 * Listens to the event stream for canceled tasks of the worker until the signal is aborted. Without the stream, the worker
 * notices a cancellation at the next renewal. Resolves when the stream is open, has failed or takes too long to open.
 */
export function listenForCancels(workerId: string, signal: AbortSignal, deps: Deps): Promise<void> {
  const { transport, leases, log, metrics, publisher } = deps
  const path = `/v1/events?worker_id=${encodeURIComponent(workerId)}&status=canceled`
  let opened = 0
  const follow = async (onOpen: () => void) => {
    const changes = transport.events<TaskChange>(path, {
      signal,
      onOpen: () => {
        onOpen()
        metrics.eventStream = true
        // The server may have been replaced by one that does not know the worker.
        if (opened++ > 0) void publisher.publish()
        // A cancellation may have been missed while the stream was closed.
        leases.check()
      },
    })
    for await (const { data } of changes) {
      if (data.status === 'canceled') leases.canceled(data.task_id, data.fence)
    }
  }
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, OPEN_MS)
    const begin = () => {
      clearTimeout(timer)
      resolve()
    }
    follow(begin)
      .catch((error: unknown) => {
        if (!signal.aborted)
          log.warn({ error }, 'no event stream: cancellations are noticed at renewals only')
      })
      .finally(() => {
        metrics.eventStream = false
        begin()
      })
  })
}
