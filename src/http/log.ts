import { type DestinationStream, type Logger, pino } from 'pino'
import { principalKey } from '../core/principal.ts'
import type { DecisionListener } from '../features/audit/decisions.ts'

export type { Logger } from 'pino'

const FLUSH_EVERY_MS = 200
const BUFFER_BYTES = 4096

/** Writes JSON lines to stderr in groups, and the last ones when the process ends or `flush` is called. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (destination !== undefined) return pino(options, destination)
  const stderr = pino.destination({
    dest: 2,
    sync: false,
    minLength: BUFFER_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
  })
  return pino(options, stderr)
}

/** Logs internal errors with their causes, which callers do not see. */
export function logErrors(logger: Logger): (error: unknown) => void {
  return (error) => logger.error({ err: error }, 'the gate reports an error')
}

/** Logs every authorization decision at level debug; undefined if nothing is logged at that level. */
export function decisionLog(logger: Logger): DecisionListener | undefined {
  if (!logger.isLevelEnabled('debug')) return undefined
  return ({ decision, operation, permission, caller, reason }) => {
    const { tenant, principal, role, scopes, key_id, origin } = caller
    logger.debug(
      {
        ...{ decision, operation, permission, tenant, principal: principalKey(principal), role },
        ...{ scopes, key_id, request_id: origin?.request_id, reason },
      },
      'an authorization decision',
    )
  }
}
