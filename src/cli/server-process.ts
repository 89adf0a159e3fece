import { withoutPassword } from '../config/database.ts'
import type { Config } from '../config/index.ts'
import { createLogger, logErrors } from '../http/log.ts'
import { warnOfCommands } from '../server/key-exposure.ts'
import { type LocalKey, openLocalKey } from '../server/local-key.ts'
import { type OpenOptions, type OpenServer, openServer } from '../server/open-server.ts'
import { OperatorError } from '../server/operator-error.ts'
import { ResourceStack } from '../util/resource-stack.ts'
import { announceServer, checkStart } from './announce.ts'
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
  /** Tells others where the server listens. Resolves with a function that takes this back. */
  readonly announce?: (url: string) => Promise<() => void>
}

/** Runs a server until the process is asked to stop, then lets running work finish. */
export async function serveUntilStopped(
  config: Config,
  output: Output,
  whenReady: (server: OpenServer) => Ready | Promise<Ready> = () => undefined,
  { isStdio = false, unneeded, localKey = localKeyOf(config), ...given }: ProcessOptions = {},
): Promise<void> {
  const { announce = (url) => announceServer(config, url, output, isStdio), ...options } = given
  checkStart(config)
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
    if (server.reloadCertificate !== undefined) process.on('SIGHUP', server.reloadCertificate)
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
    const remove = await announce(url)
    process.once('exit', remove)
    for (const { upstreams } of server.upstreams.all) stack.defer(warnOfCommands(upstreams, warn))
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
