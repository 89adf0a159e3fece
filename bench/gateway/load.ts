import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Connection } from '../http/connection.ts'
import { callTool } from '../http/protocols.ts'
import type { ServerProcess } from '../http/servers.ts'

export const UPSTREAM = fileURLToPath(new URL('./upstream.js', import.meta.url))
export const TOOL = 'bench__echo'
/** A rule with a condition, so that one is evaluated for every call. */
const RULES = [
  {
    id: 'small-numbers',
    scope: { upstream: 'bench' },
    action: 'ALLOW',
    condition: { '<': [{ var: 'args.n' }, 1_000_000_000] },
  },
]

/** The settings of a gate with the upstream, and with a rule; their files are in the folder. */
export function upstreamSettings(folder: string, concurrency: number): Record<string, string> {
  const upstreams = join(folder, 'upstreams.json')
  const policies = join(folder, 'policies.json')
  const transport = { type: 'stdio', command: process.execPath, args: [UPSTREAM] }
  writeFileSync(upstreams, JSON.stringify([{ name: 'bench', transport, concurrency }]))
  writeFileSync(policies, JSON.stringify(RULES))
  return {
    ASYNCGATE_UPSTREAMS_FILE: upstreams,
    ASYNCGATE_POLICIES_FILE: policies,
    ASYNCGATE_GATEWAY_WORKERS: String(3 * concurrency),
  }
}

/** Each connection is a separate client instance with its own session. */
export async function callsPerSecond(port: number, connections: number, seconds: number): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  const counts = await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      const connection = await Connection.open(port)
      let count = 0
      while (performance.now() < end) {
        await callTool(connection, TOOL, { n: count++ }, `bench-${i}`)
      }
      connection.close()
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - start) / 1000)
}

/** The upstream is connected after the server has started to listen. */
export async function offered({ port }: Pick<ServerProcess, 'port'>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const upstream = await fetch(`http://127.0.0.1:${port}/v1/upstreams/bench`)
    if (/"state":"ready"/.test(await upstream.text())) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the upstream is not ready')
}
