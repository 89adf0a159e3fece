import { DEFAULT_TENANT } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import type { Logger } from '../http/log.ts'
import { entryScheduleStore } from '../scheduler/entry-store.ts'
import { schedulerOf, WORKER_ID } from '../scheduler/scheduler.ts'
import type { Store } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { IN_PROCESS_URL, inProcessFetch } from './in-process-fetch.ts'

/**
 * A scheduler inside of the server, for the default tenant. Its schedules are in the database, so that all servers with an
 * embedded scheduler have the same ones: each fires every run, and the key of the run creates one task.
 */
export async function startEmbeddedScheduler(
  gate: Gate,
  store: Pick<Store, 'entries' | 'tenant'>,
  logger: Logger,
): Promise<{ stop(): Promise<void> }> {
  const { tenant } = await store.tenant(DEFAULT_TENANT)
  const caller = {
    tenant: DEFAULT_TENANT,
    principal: { kind: 'worker', id: WORKER_ID },
    role: 'worker',
  } as const
  const log = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    logger[level](fields, `scheduler: ${message}`)
  const scheduler = schedulerOf(entryScheduleStore(store.entries, tenant), {
    url: IN_PROCESS_URL,
    fetch: inProcessFetch(gate, caller),
    logger: { debug: log('debug'), info: log('debug'), warn: log('warn'), error: log('error') },
  })
  const stopping = new AbortController()
  const running = scheduler.run({ signal: stopping.signal }).catch((error: unknown) => {
    logger.error({ reason: messageOf(error) }, 'the embedded scheduler has stopped')
  })
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}
