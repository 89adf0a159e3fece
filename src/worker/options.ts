import type { GateAddress } from '../client/transport.ts'
import { jsonLogger, type Logger, silentLogger } from './log.ts'
import type { ResultStore } from './results.ts'
import type { TaskDefinition } from './task.ts'

export interface WorkerOptions extends GateAddress {
  /** What the worker can do. */
  readonly tasks: readonly TaskDefinition[]
  /** How many handlers run at once; 1 by default. */
  readonly concurrency?: number
  /** The name of the worker; a new one for each process by default. */
  readonly workerId?: string
  /**
   * Whether it first takes over the leases that an earlier process with its `workerId` left behind. Only for a
   * `workerId` that one process at a time has; false by default.
   */
  readonly reclaim?: boolean
  /** What it offers besides its types, for tasks that require it. */
  readonly capabilities?: readonly string[]
  /** How long a lease is, and so how soon a worker that died is replaced; the server's default if absent. */
  readonly leaseSeconds?: number
  /** How long one request waits for work, 1 to 50. */
  readonly pollSeconds?: number
  /** How long handlers may go on once the worker is to stop. Then their signals abort. */
  readonly stopSeconds?: number
  /** How long they and the last reports may take after that. Then the worker has stopped, whatever still runs. */
  readonly killSeconds?: number
  /** Whether SIGTERM and SIGINT stop it; true by default. */
  readonly signals?: boolean
  /** JSON lines on stderr by default; false for none. */
  readonly logger?: Logger | false
  /** Whether `ctx.log` also sends its lines to the server, which keeps them with the task; true by default. */
  readonly sendLogs?: boolean
  /** Keeps results of more than 1 MiB, and those of tasks with a `channel`. */
  readonly results?: ResultStore
}

/** The options, checked and complete. */
export interface Settings {
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly types: readonly string[]
  readonly concurrency: number
  readonly workerId: string
  /** Whether the name was given, and may be used again. */
  readonly isNamed: boolean
  /** Tells this process from others of its name; undefined if there can be none. */
  readonly instanceId: string | undefined
  readonly reclaim: boolean
  readonly capabilities: readonly string[] | undefined
  /** Of a claim: the shortest that any of the tasks asks for. */
  readonly leaseSeconds: number | undefined
  readonly pollSeconds: number
  readonly stopMs: number
  readonly killMs: number
  readonly signals: boolean
  readonly logger: Logger
  readonly sendsLogs: boolean
  readonly results: ResultStore | undefined
}

const MAX_TYPES = 200

export function settingsOf(options: WorkerOptions): Settings {
  const { tasks, concurrency = 1, pollSeconds = 50, stopSeconds = 20, killSeconds = 10 } = options
  const { leaseSeconds, results, logger = jsonLogger() } = options
  const definitions = new Map(tasks.map((task) => [task.name, task]))
  if (tasks.length === 0 || tasks.length > MAX_TYPES) mistake('tasks', `1 to ${MAX_TYPES} tasks`)
  if (definitions.size < tasks.length) mistake('tasks', 'tasks with different names')
  checkNumber('concurrency', concurrency, 1, 100_000)
  checkNumber('pollSeconds', pollSeconds, 1, 50)
  if (leaseSeconds !== undefined) checkNumber('leaseSeconds', leaseSeconds, 1, 365 * 24 * 3600)
  checkTime('stopSeconds', stopSeconds)
  checkTime('killSeconds', killSeconds)
  const workerId = options.workerId ?? newWorkerId()
  if (workerId === '' || workerId.length > 255) mistake('workerId', 'a text of 1 to 255 characters')
  if (options.reclaim === true && options.workerId === undefined) {
    mistake('workerId', 'given with reclaim: a random one has left no leases behind')
  }
  const homeless = tasks.find((task) => task.channel !== undefined)
  if (homeless !== undefined && results === undefined) {
    mistake('results', `given, since task "${homeless.name}" has a channel`)
  }
  return {
    definitions,
    types: [...definitions.keys()],
    concurrency,
    workerId,
    isNamed: options.workerId !== undefined,
    instanceId: options.workerId === undefined ? undefined : crypto.randomUUID(),
    reclaim: options.reclaim ?? false,
    capabilities: options.capabilities,
    leaseSeconds: shortest(tasks, leaseSeconds),
    pollSeconds,
    stopMs: stopSeconds * 1000,
    killMs: killSeconds * 1000,
    signals: options.signals ?? true,
    logger: logger === false ? silentLogger : logger,
    sendsLogs: options.sendLogs ?? true,
    results,
  }
}

/** All types are claimed in one request. What needs a longer lease gets it before it begins. */
function shortest(tasks: readonly TaskDefinition[], common: number | undefined): number | undefined {
  const lengths = tasks.map((task) => task.leaseSeconds ?? common)
  const given = lengths.filter((length) => length !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}

function newWorkerId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6))
  return `worker.${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

function checkNumber(name: keyof WorkerOptions, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    mistake(name, `a whole number from ${least} to ${most}`)
  }
}

function checkTime(name: keyof WorkerOptions, value: number): void {
  if (!Number.isFinite(value) || value < 0) mistake(name, 'a number of at least 0')
}

function mistake(name: keyof WorkerOptions, wanted: string): never {
  throw new TypeError(`worker({ ${name} }): it must be ${wanted}.`)
}
