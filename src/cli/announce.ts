import { join } from 'node:path'
import type { Config } from '../config/index.ts'
import { createLogger } from '../http/log.ts'
import { dataFolder, serverFileName, writeServerFile } from '../server/server-file.ts'
import { messageOf } from '../util/error-message.ts'
import { CliError, EXIT } from './exit.ts'
import { type Output, warn } from './output.ts'

/** Refuses settings that are unsafe, and prints warnings. */
export function checkStart({ refusals, warnings }: Config): void {
  if (refusals.length > 0) throw new CliError(EXIT.failure, refusals.join('\n'))
  for (const warning of warnings) warn(warning)
}

/** Writes the file by which commands on this machine find the server, and prints its URL. The server also works without it. */
export async function announceServer(
  config: Config,
  url: string,
  output: Output,
  isStdio = false,
): Promise<() => void> {
  const remove = await writeFile(config, url, isStdio)
  if (!isStdio) {
    output.event({ event: 'listening', url })
    output.print(`AsyncGate listening on ${url}`)
  }
  return remove
}

async function writeFile(config: Config, listening: string, isStdio: boolean): Promise<() => void> {
  const { database, logLevel, server } = config
  // The certificate is for the public name, mostly not for the address.
  const url = server.tls_cert_file === null ? listening : (server.public_url ?? listening)
  const path = join(dataFolder(database), serverFileName(database, isStdio))
  try {
    return await writeServerFile(path, { url })
  } catch (error) {
    const reason = messageOf(error)
    createLogger(logLevel).info(
      { path, reason },
      'the file with the URL of this server cannot be written; commands need --url',
    )
    return () => {}
  }
}
