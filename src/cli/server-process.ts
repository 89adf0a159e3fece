import { withoutPassword } from '../config/database.ts'
import type { Config } from '../config.ts'
import { createLogger } from '../http/log.ts'
import { CliError, EXIT } from './exit.ts'
import { type OpenOptions, type OpenServer, openServer } from './open-server.ts'
import { type Output, warn } from './output.ts'
import { stopRequested } from './signals.ts'

/** Whoever stops us waits ten seconds; what has not ended by then is cut off. */
const STOP_WITHIN_MS = 9_500

/** What runs beside a server, and is to be stopped with it. */
export interface Companion {
  stop(): Promise<void>
}

/** Runs a server until the process is told to stop, then lets it finish what it has begun. */
export async function serveUntilStopped(
  config: Config,
  output: Output,
  whenReady: (server: OpenServer) => Companion | undefined = () => undefined,
  { isQuiet = false, ...options }: OpenOptions & { readonly isQuiet?: boolean } = {},
): Promise<void> {
  if (config.refusals.length > 0) throw new CliError(EXIT.failure, config.refusals.join('\n'))
  for (const warning of config.warnings) warn(warning)
  const stopping = stopRequested()
  const logger = createLogger(config.logLevel)
  const server = await openServer(config, logger, options)
  logger.info(
    {
      url: server.url,
      env: config.server.env,
      instance_id: config.settings.instance_id,
      database: withoutPassword(config.server.database_url),
    },
    'listening',
  )
  // Standard output may belong to a client that speaks another language.
  if (!isQuiet) {
    output.event({ event: 'listening', url: server.url })
    output.say(`AsyncGate listening on ${server.url}`)
  }
  const companion = whenReady(server)

  const signal = await stopping
  logger.info({ signal }, 'stopping')
  const late = setTimeout(() => {
    warn(`Not everything has ended within ${STOP_WITHIN_MS / 1000} s; it is cut off.`)
    process.exit(EXIT.failure)
  }, STOP_WITHIN_MS)
  await companion?.stop()
  await server.close()
  clearTimeout(late)
  logger.info('stopped')
  logger.flush()
}
