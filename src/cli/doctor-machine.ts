import { createServer } from 'node:net'
import { z } from 'zod'
import type { Finding } from './finding.ts'

const OLDEST_NODE = [20, 19] as const

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldest, oldestMinor] = OLDEST_NODE
  const ok = major > oldest || (major === oldest && minor >= oldestMinor)
  const fix = `Install Node ${OLDEST_NODE.join('.')} or later.`
  return { check: 'node', ok, detail: version, ...(!ok && { fix }) }
}

const healthShape = z.object({ status: z.string(), version: z.string() })

/** The version of the AsyncGate that listens there; undefined if none does. */
export async function healthyServer(host: string, port: number): Promise<string | undefined> {
  if (port === 0) return undefined
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  try {
    const response = await fetch(`http://${name}:${port}/health/live`, { signal: AbortSignal.timeout(2000) })
    return healthShape.parse(await response.json()).version
  } catch {
    return undefined
  }
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
