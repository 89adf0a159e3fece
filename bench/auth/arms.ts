import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import { type Database, urlOf } from '../engine/databases.ts'
import { lifecyclesOverHttp } from '../http/load.ts'
import { mcp, type Protocol, rest } from '../http/protocols.ts'
import { startGate } from '../http/servers.ts'
import type { Arm } from '../paired.ts'
import { createKey } from './key.ts'
import type { Part } from './options.ts'

const ENGINE_CHILD = fileURLToPath(new URL('./engine-child.ts', import.meta.url))
const ENGINE_CALLERS = 256
const CONNECTIONS = 64
const BATCH = 100
const REQUESTS_PER_LIFECYCLE = 3

/** The log of receipts is measured elsewhere: without its checkpoints, which take turns of their own, rounds differ less. */
const COMMON = { ASYNCGATE_LEDGER_CHECKPOINT_SECONDS: '0' }

/** Rate limits that no client reaches. */
export const LIMITED = {
  ...COMMON,
  ASYNCGATE_ALLOW_INSECURE_DEV: 'false',
  ASYNCGATE_RATE_LIMIT_ENABLED: 'true',
  ASYNCGATE_RATE_LIMIT_DEFAULT_CALLS: '100000000',
}

/** Starts a server or an engine: with a key and limits, or in insecure development. */
type StartArm = (database: Database, isBound: boolean) => Promise<Arm>

export interface Workload {
  readonly name: string
  /** What a turn counts. */
  readonly unit: 'call' | 'request'
  readonly start: StartArm
}

export const WORKLOADS: Readonly<Record<Exclude<Part, 'flood'>, Workload>> = {
  engine: { name: `engine in process, ${ENGINE_CALLERS} callers`, unit: 'call', start: startEngine },
  rest: { name: 'REST, one task per request', unit: 'request', start: overHttp(rest, 1) },
  batch: { name: `REST, ${BATCH} tasks per request`, unit: 'request', start: overHttp(rest, BATCH) },
  mcp: { name: 'MCP 2026-07-28, one task per request', unit: 'request', start: overHttp(mcp, 1) },
}

async function startEngine({ name, address }: Database, isBound: boolean): Promise<Arm> {
  const child = await startChild(ENGINE_CHILD, [isBound ? 'bound' : 'named', name, address], process.cwd())
  return {
    pid: child.pid,
    measure: async (seconds) =>
      REQUESTS_PER_LIFECYCLE * (await child.ask({ count: ENGINE_CALLERS, seconds })),
    stop: child.stop,
  }
}

function overHttp(protocol: Protocol, perRequest: number): StartArm {
  return async (database, isBound) => {
    // Both databases contain the same.
    const key = createKey(database)
    const server = await startGate(urlOf(database), isBound ? LIMITED : COMMON)
    return {
      pid: server.pid,
      async measure(seconds) {
        const sent = isBound ? key : undefined
        const rate = await lifecyclesOverHttp(protocol, server.port, CONNECTIONS, perRequest, seconds, sent)
        return (REQUESTS_PER_LIFECYCLE * rate) / perRequest
      },
      stop: server.stop,
    }
  }
}
