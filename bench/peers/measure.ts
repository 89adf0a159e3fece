import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Databases } from '../engine/databases.ts'
import { newArtifacts, newPayload, newResult } from '../engine/lifecycle.ts'
import { startGate } from '../http/servers.ts'
import { startRedis } from './redis.ts'
import type { Measurement } from './results.ts'
import type { System } from './systems.ts'

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url))
const KEY = 'key-of-the-benchmark-0123456789abcdef'

export interface Environment {
  readonly databases: Databases
  /** The path of redis-server, if it is installed. */
  readonly redis: string | undefined
  readonly peersFolder: string
  readonly signal: AbortSignal
}

export interface Amounts {
  readonly live: number
  readonly bulk: number
  /** The number of idle pick-ups. */
  readonly samples: number
}

/** Measures a system once, on an empty database. */
export async function measure(
  system: System,
  amounts: Amounts,
  environment: Environment,
): Promise<Measurement> {
  const { signal } = environment
  signal.throwIfAborted()
  const database = await openDatabase(system, environment)
  try {
    if (!system.hasServer) return await inChild(system, amounts, environment, database.address)
    const server = await startGate(database.url, {
      ASYNCGATE_ALLOW_INSECURE_DEV: 'false',
      ASYNCGATE_API_KEY: KEY,
    })
    try {
      signal.throwIfAborted()
      const address = `http://127.0.0.1:${server.port}`
      const measurement = await inChild(system, amounts, environment, address)
      const memory = peakMemory(server.pid) + (isLoadGenerator(system) ? 0 : measurement.memory)
      return { ...measurement, memory }
    } finally {
      await server.stop()
    }
  } finally {
    await database.remove()
  }
}

/** Whether the process that is measured only sends bare requests, and so is not part of the system. */
function isLoadGenerator({ module }: System): boolean {
  return module.endsWith('.ts')
}

async function openDatabase({ database }: System, { databases, redis }: Environment) {
  if ('redis' in database) {
    if (redis === undefined) throw new Error('redis-server is not installed')
    const server = await startRedis(redis, database.redis)
    return { address: server.url, url: server.url, remove: server.remove }
  }
  const { name, address, drop } = await databases.createEmpty(database.store)
  return { address, url: name === 'sqlite' ? `sqlite:${address}` : address, remove: drop }
}

function inChild(
  system: System,
  { live, bulk, samples }: Amounts,
  { peersFolder, signal }: Environment,
  address: string,
): Promise<Measurement> {
  const job = {
    module: system.module,
    options: {
      ...system.options,
      key: KEY,
      payload: newPayload(),
      result: newResult(),
      artifacts: newArtifacts(),
    },
    address,
    peersFolder,
    live,
    bulk: system.hasBulk ? bulk : 0,
    samples,
  }
  const child = fork(CHILD, [JSON.stringify(job)], {
    // Without tsx where it would count as memory of the system.
    execArgv: isLoadGenerator(system) ? ['--import', 'tsx'] : [...(system.flags ?? [])],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  })
  const kill = () => killGroup(child.pid)
  signal.addEventListener('abort', kill)
  return new Promise((resolve, reject) => {
    let measurement: Measurement | undefined
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2000)
    })
    child.on('message', (message: Measurement | { readonly error: string }) => {
      if ('error' in message) errors = message.error
      else measurement = message
    })
    child.once('error', reject)
    child.once('exit', kill)
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', kill)
      if (code === 0 && measurement !== undefined) resolve(measurement)
      else reject(new Error(`${system.label} ended with ${code ?? killedBy}: ${errors.trim()}`))
    })
  })
}

/** Ends a child process that was started as the leader of a group, and the processes that it started itself. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // No process of the group is left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** The largest resident memory of a running process so far, in MB. */
function peakMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024
}
