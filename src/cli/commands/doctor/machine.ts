import { createServer } from 'node:net'
import type { ServerValues } from '../../../config/server.ts'
import { reachable, type ServerRecord, versionAt } from '../../../server/server-file.ts'

/** The result of one check. */
export interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
  /** What to do if it is not ok. */
  readonly fix?: string
}

const OLDEST_NODE = [20, 19] as const

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldest, oldestMinor] = OLDEST_NODE
  const ok = major > oldest || (major === oldest && minor >= oldestMinor)
  const fix = `Install Node ${OLDEST_NODE.join('.')} or later.`
  return { check: 'node', ok, detail: version, ...(!ok && { fix }) }
}

/** `own` is the server that is running on this database. */
export async function checkPort(
  { host, port, tls_cert_file }: Pick<ServerValues, 'host' | 'port' | 'tls_cert_file'>,
  own: ServerRecord | undefined,
): Promise<Finding> {
  const check = 'port'
  const scheme = tls_cert_file === null ? 'http' : 'https'
  const url = reachable(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`)
  if (own !== undefined && own.url === url) {
    return { check, ok: true, detail: `the server of this database listens on ${url} (process ${own.pid})` }
  }
  const problem = await new Promise<string | undefined>((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
  if (problem === undefined) return { check, ok: true, detail: `${host}:${port} is free` }
  if (problem === 'EADDRINUSE') {
    const version = await versionAt(url)
    const by = version === undefined ? 'another program' : `another AsyncGate (${version})`
    const fix = 'Stop the program that uses it, or set ASYNCGATE_PORT to another port; 0 picks a free one.'
    return { check, ok: false, detail: `${host}:${port} is in use by ${by}`, fix }
  }
  const fix =
    problem === 'EACCES'
      ? 'Set ASYNCGATE_PORT to a port above 1023.'
      : 'Set ASYNCGATE_HOST to an address of this machine.'
  return { check, ok: false, detail: `${host}:${port} cannot be used (${problem})`, fix }
}
