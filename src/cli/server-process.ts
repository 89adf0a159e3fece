import { join } from 'node:path'
import { withoutPassword } from '../config/database.ts'
import type { Config } from '../config/index.ts'
import { createLogger, type Logger } from '../http/log.ts'
import { watchForCommands } from '../server/command-tools.ts'
import { type LocalKey, openLocalKey } from '../server/local-key.ts'
import { type OpenOptions, type OpenServer, openServer } from '../server/open-server.ts'
import { dataFolder, serverFileName, writeServerFile } from '../server/server-file.ts'
import { messageOf } from '../util/error-message.ts'
import { CliError, EXIT } from './exit.ts'
import { type Output, warn } from './output.ts'
import { exitCodeOf, stopRequested } from './signals.ts'

/** Whoever stops us waits ten seconds; what has not ended by then is cut off. */
const STOP_WITHIN_MS = 9_500

/** What runs beside a server, and is to be stopped with it. */
export interface Companion {
  stop(): Promise<void>
}

type Ready = Companion | undefined

export interface ProcessOptions extends OpenOptions {
  /** It serves a client on stdin and stdout, which belong to that client. */
  readonly isStdio?: boolean
  /** Resolves when there is nobody left to serve. */
  readonly unneeded?: Promise<void>
}

/** Runs a server until the process is told to stop, then lets it finish what it has begun. */
export async function serveUntilStopped(
  config: Config,
  output: Output,
  whenReady: (server: OpenServer) => Ready | Promise<Ready> = () => undefined,
  { isStdio = false, unneeded, localKey = localKeyOf(config), ...options }: ProcessOptions = {},
): Promise<void> {
  if (config.refusals.length > 0) throw new CliError(EXIT.failure, config.refusals.join('\n'))
  for (const warning of config.warnings) warn(warning)
  const stopping = stopRequested(unneeded)
  const logger = createLogger(config.logLevel)
  let isOpen = false
  // During the start there is nothing to finish. The programs of upstreams end with this process.
  void stopping.then((signal) => {
    if (!isOpen) process.exit(exitCodeOf(signal))
  })
  const server = await openServer(config, logger, { ...options, localKey })
  isOpen = true
  logger.info(
    {
      url: server.url,
      env: config.server.env,
      instance_id: config.settings.instance_id,
      database: withoutPassword(config.server.database_url),
    },
    'listening',
  )
  const remove = await announce(config, server.url, isStdio, logger)
  process.once('exit', remove)
  if (!isStdio) {
    output.event({ event: 'listening', url: server.url })
    output.say(`AsyncGate listening on ${server.url}`)
  }
  watchForCommands(server.upstreams, warn)
  const companion = await whenReady(server)

  const signal = await stopping
  remove()
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

/**
 * The key of the person who runs the server, where people have no keys by the settings. In staging and production
 * everybody who decides is named in the settings.
 */
function localKeyOf({ server }: Config): LocalKey | undefined {
  if (server.env !== 'development' || server.admin_keys !== null) return undefined
  try {
    return openLocalKey()
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    warn(`${error.message}\nWithout it nobody can approve from the command line. ${error.hint}`)
    return undefined
  }
}

/** Tells commands of this machine where the server is. It serves without that, too. */
async function announce(
  { database }: Config,
  url: string,
  isStdio: boolean,
  logger: Logger,
): Promise<() => void> {
  const path = join(dataFolder(database), serverFileName(database, isStdio))
  try {
    return await writeServerFile(path, { url })
  } catch (error) {
    const reason = messageOf(error)
    logger.info(
      { path, reason },
      'commands have to be told the URL of this server: its file cannot be written',
    )
    return () => {}
  }
}
