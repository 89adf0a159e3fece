import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import { type Database, urlOf } from '../engine/databases.ts'
import { callsPerSecond, offered, upstreamSettings } from '../gateway/load.ts'
import { lifecyclesOverHttp } from '../http/load.ts'
import { mcp, type Protocol, rest } from '../http/protocols.ts'
import { startGate } from '../http/servers.ts'
import type { Arm } from '../paired.ts'
import { fill } from '../worker/raw.ts'

const ENGINE_CHILD = fileURLToPath(new URL('./engine-child.ts', import.meta.url))
const WORKER_CHILD = fileURLToPath(new URL('./worker-child.ts', import.meta.url))
const ENGINE_CALLERS = 256
const CONNECTIONS = 64
const BATCH = 100
const CONCURRENCY = 400
/** Tasks of the worker for each second that it should take. */
const TASKS_PER_SECOND = 4_000

export type StartArm = (folder: string, database: Database) => Promise<Arm>

interface Workload {
  readonly suite: 'engine' | 'http' | 'worker' | 'gateway'
  readonly name: string
  readonly start: StartArm
}

export const WORKLOADS: readonly Workload[] = [
  { suite: 'engine', name: `engine, ${ENGINE_CALLERS} callers`, start: startEngine },
  { suite: 'http', name: 'REST, one task per request', start: overHttp(rest, 1) },
  { suite: 'http', name: 'MCP, one task per request', start: overHttp(mcp, 1) },
  { suite: 'http', name: `REST, ${BATCH} tasks per request`, start: overHttp(rest, BATCH) },
  { suite: 'worker', name: `worker SDK, ${CONCURRENCY} concurrent tasks`, start: startWorker },
  { suite: 'gateway', name: 'upstream tool through the gateway', start: startGateway },
]

async function startEngine(folder: string, { name, address }: Database): Promise<Arm> {
  const child = await startChild(ENGINE_CHILD, [folder, name, address], folder)
  return {
    pid: child.pid,
    measure: (seconds) => child.ask({ callers: ENGINE_CALLERS, seconds }),
    stop: child.stop,
  }
}

function overHttp(protocol: Protocol, perRequest: number): StartArm {
  return async (folder, database) => {
    const server = await startGate(urlOf(database), {}, folder)
    return {
      pid: server.pid,
      measure: (seconds) => lifecyclesOverHttp(protocol, server.port, CONNECTIONS, perRequest, seconds),
      stop: server.stop,
    }
  }
}

/** A worker of the version completes tasks that are created by requests of 1,000 tasks. */
async function startWorker(folder: string, database: Database): Promise<Arm> {
  const server = await startGate(urlOf(database), {}, folder)
  const child = await startChild(WORKER_CHILD, [folder, String(server.port), String(CONCURRENCY)], folder)
  return {
    pid: server.pid,
    async measure(seconds) {
      const count = TASKS_PER_SECOND * seconds
      const startedAt = performance.now()
      const completed = child.ask({ count })
      await fill(server.port, count)
      await completed
      return (count / (performance.now() - startedAt)) * 1000
    },
    async stop() {
      await child.stop()
      await server.stop()
    },
  }
}

async function startGateway(folder: string, database: Database): Promise<Arm> {
  const files = mkdtempSync(join(tmpdir(), 'asyncgate-bench-'))
  const server = await startGate(urlOf(database), upstreamSettings(files, CONNECTIONS), folder)
  await offered(server)
  return {
    pid: server.pid,
    measure: (seconds) => callsPerSecond(server.port, CONNECTIONS, seconds),
    async stop() {
      await server.stop()
      rmSync(files, { recursive: true })
    },
  }
}
