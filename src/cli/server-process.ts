import { join } from 'node:path'
import { withoutPassword } from '../config/database.ts'
import type { Config } from '../config.ts'
import { createLogger, type Logger } from '../http/log.ts'
import { CliError, EXIT } from './exit.ts'
import { type OpenOptions, type OpenServer, openServer } from './open-server.ts'
import { type Output, warn } from './output.ts'
import { dataFolder, serverFileName, writeServerFile } from './server-file.ts'
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
  /** Where its own key is kept, which commands in the same folder may use. */
  readonly ownKeyFolder?: string
}

/** Runs a server until the process is told to stop, then lets it finish what it has begun. */
export async function serveUntilStopped(
  config: Config,
  output: Output,
  whenReady: (server: OpenServer) => Ready | Promise<Ready> = () => undefined,
  { isStdio = false, unneeded, ownKeyFolder, ...options }: ProcessOptions = {},
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
  const server = await openServer(config, logger, options)
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
  const remove = await announce(config, server.url, isStdio, ownKeyFolder, logger)
  process.once('exit', remove)
  if (!isStdio) {
    output.event({ event: 'listening', url: server.url })
    output.say(`AsyncGate listening on ${server.url}`)
  }
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

/** Tells commands of this machine where the server is. It serves without that, too. */
async function announce(
  { database }: Config,
  url: string,
  isStdio: boolean,
  ownKeyFolder: string | undefined,
  logger: Logger,
): Promise<() => void> {
  const path = join(ownKeyFolder ?? dataFolder(database), serverFileName(database, isStdio))
  try {
    return await writeServerFile(path, { url, own_key: ownKeyFolder !== undefined })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    logger.info(
      { path, reason },
      'commands have to be told the URL of this server: its file cannot be written',
    )
    return () => {}
  }
}
