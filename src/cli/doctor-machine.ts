import { createServer } from 'node:net'
import type { Finding } from './finding.ts'
import { reachable, versionAt } from './server-file.ts'

const OLDEST_NODE = [20, 19] as const

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldest, oldestMinor] = OLDEST_NODE
  const ok = major > oldest || (major === oldest && minor >= oldestMinor)
  const fix = `Install Node ${OLDEST_NODE.join('.')} or later.`
  return { check: 'node', ok, detail: version, ...(!ok && { fix }) }
}

/** The version of the AsyncGate that listens there; undefined if none does. */
export async function healthyServer(host: string, port: number): Promise<string | undefined> {
  return port === 0
    ? undefined
    : versionAt(reachable(`http://${host.includes(':') ? `[${host}]` : host}:${port}`))
}

export async function checkPort(host: string, port: number, running: string | undefined): Promise<Finding> {
  const check = 'port'
  if (running !== undefined) {
    return { check, ok: true, detail: `AsyncGate ${running} answers on ${host}:${port} already` }
  }
  const problem = await new Promise<string | undefined>((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
  if (problem === undefined) return { check, ok: true, detail: `${host}:${port} is free` }
  const fix =
    problem === 'EADDRINUSE'
      ? 'Stop the program that has it, or set ASYNCGATE_PORT to another; 0 picks a free one.'
      : problem === 'EACCES'
        ? 'Set ASYNCGATE_PORT to one above 1023.'
        : 'Set ASYNCGATE_HOST to an address of this machine.'
  return { check, ok: false, detail: `${host}:${port} cannot be used (${problem})`, fix }
}
