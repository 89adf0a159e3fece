import { join } from 'node:path'
import { withoutPassword } from '../config/database.ts'
import type { Config } from '../config/index.ts'
import { createLogger, type Logger, logErrors } from '../http/log.ts'
import { warnOfCommands } from '../server/key-exposure.ts'
import { type LocalKey, openLocalKey } from '../server/local-key.ts'
import { type OpenOptions, type OpenServer, openServer } from '../server/open-server.ts'
import { OperatorError } from '../server/operator-error.ts'
import { dataFolder, serverFileName, writeServerFile } from '../server/server-file.ts'
import { messageOf } from '../util/error-message.ts'
import { ResourceStack } from '../util/resource-stack.ts'
import { CliError, EXIT } from './exit.ts'
import { type Output, warn } from './output.ts'
import { exitCodeOf, limitStop, stopRequested } from './signals.ts'

/** Work beside a server that is stopped before it. */
export interface Companion {
  stop(): Promise<void>
}

type Ready = Companion | undefined

export interface ProcessOptions extends OpenOptions {
  /** The server serves a client on stdin and stdout, so it must not write to stdout. */
  readonly isStdio?: boolean
  /** Resolves when the last client has gone. */
  readonly unneeded?: Promise<void>
}

/** Runs a server until the process is asked to stop, then lets running work finish. */
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
  // Before the server is open there is no work to finish. The programs of upstreams end with this process.
  void stopping.then((signal) => {
    if (!isOpen) process.exit(exitCodeOf(signal))
  })
  const running = await ResourceStack.open(logErrors(logger), async (stack) => {
    const server = await openServer(config, logger, { ...options, warn, localKey })
    stack.defer(() => server.close())
    isOpen = true
    const { url } = server
    logger.info(
      {
        url,
        env: config.server.env,
        instance_id: config.settings.instance_id,
        database: withoutPassword(config.server.database_url),
      },
      'listening',
    )
    const remove = await announce(config, url, isStdio, logger)
    process.once('exit', remove)
    if (!isStdio) {
      output.event({ event: 'listening', url })
      output.print(`AsyncGate listening on ${url}`)
    }
    stack.defer(warnOfCommands(server.upstreams, warn))
    const companion = await whenReady(server)
    stack.defer(() => companion?.stop())
    stack.defer(remove)
    return stack
  })

  const signal = await stopping
  logger.info({ signal }, 'stopping')
  const cancelLimit = limitStop()
  await running.close()
  cancelLimit()
  logger.info('stopped')
  logger.flush()
}

/** The approval key of the person who runs the server. Outside of development people have keys by the settings only. */
function localKeyOf({ server }: Config): LocalKey | undefined {
  if (server.env !== 'development' || server.admin_keys !== null) return undefined
  try {
    return openLocalKey(warn)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    warn(`${error.message}\nWithout it you cannot approve from the command line. ${error.hint}`)
    return undefined
  }
}

/** Writes the file by which commands on this machine find the server. The server also works without it. */
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
      'the file with the URL of this server cannot be written; commands need --url',
    )
    return () => {}
  }
}
