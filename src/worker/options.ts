import type { GateAddress } from '../client/transport.ts'
import type { ScheduleOwner } from './cron-options.ts'
import { type Hooks, hooksOf } from './hooks.ts'
import { jsonLogger, type Logger, silentLogger } from './log.ts'
import { ResultSigner } from './result-signer.ts'
import type { ResultStore } from './results.ts'
import type { TaskDefinition } from './task.ts'

export interface WorkerOptions extends GateAddress {
  /** The tasks that the worker can run. */
  readonly tasks: readonly TaskDefinition[]
  /** The maximum number of concurrent handlers; 1 by default. */
  readonly concurrency?: number
  /** The name of the worker; a random one for each process by default. */
  readonly workerId?: string
  /**
   * Whether the worker first takes over the leases of an earlier process with the same `workerId`. Only for a `workerId`
   * that one process at a time uses; false by default.
   */
  readonly reclaim?: boolean
  /** The version of the program, which the list of workers shows. */
  readonly version?: string
  /** Capabilities of the worker, for tasks that require them. */
  readonly capabilities?: readonly string[]
  /**
   * Whether the worker publishes its task types, so that agents can find them and the server refuses payloads that do not
   * match; true by default.
   */
  readonly publish?: boolean
  /** Whether its task types may be MCP tools, for tasks without `tool`; as the server decides by default. */
  readonly tools?: boolean
  /** The length of a lease, and therefore the time until the tasks of a dead worker are requeued; by default that of the server. */
  readonly leaseSeconds?: number
  /** How long one claim waits for tasks, 1 to 50. */
  readonly pollSeconds?: number
  /** How long handlers may run after the worker starts to stop. Then their signals are aborted. */
  readonly stopSeconds?: number
  /** How long handlers and the last reports may take after that. Then the worker ends, even if handlers still run. */
  readonly killSeconds?: number
  /** Whether SIGTERM and SIGINT stop the worker; true by default. */
  readonly signals?: boolean
  /** JSON lines on stderr by default; false for none. */
  readonly logger?: Logger | false
  /** Whether `ctx.log` also sends its lines to the server, which stores them with the task; true by default. */
  readonly sendLogs?: boolean
  /** Called for all tasks of the worker, after the hooks of the task itself. */
  readonly hooks?: Hooks
  /** Who owns the schedules of tasks with `cron`; false registers none. */
  readonly schedules?: ScheduleOwner | false
  /** Stores results of more than 1 MiB, and those of tasks with a `channel`. */
  readonly results?: ResultStore
  /**
   * An Ed25519 private key in PEM format. With it the worker signs its results, and whoever has the public key can verify
   * in the proof of the receipt task.completed that the result is the one of the worker; see docs/ledger.md.
   */
  readonly signingKey?: string
}

/** The validated options with their defaults. */
export type Settings = ReturnType<typeof settingsOf>

const MAX_TYPES = 200

export function settingsOf(options: WorkerOptions) {
  const { tasks, concurrency = 1, pollSeconds = 50, stopSeconds = 20, killSeconds = 10 } = options
  const { leaseSeconds, results, logger = jsonLogger() } = options
  const definitions = new Map(tasks.map((task) => [task.name, task]))
  if (tasks.length === 0 || tasks.length > MAX_TYPES) invalid('tasks', `1 to ${MAX_TYPES} tasks`)
  if (definitions.size < tasks.length) invalid('tasks', 'tasks with different names')
  checkNumber('concurrency', concurrency, 1, 100_000)
  checkNumber('pollSeconds', pollSeconds, 1, 50)
  if (leaseSeconds !== undefined) checkNumber('leaseSeconds', leaseSeconds, 1, 365 * 24 * 3600)
  checkTime('stopSeconds', stopSeconds)
  checkTime('killSeconds', killSeconds)
  const workerId = options.workerId ?? newWorkerId()
  if (workerId === '' || workerId.length > 255) invalid('workerId', 'a string of 1 to 255 characters')
  if (options.reclaim === true && options.workerId === undefined) {
    invalid('workerId', 'given with reclaim, because a random name has no earlier leases')
  }
  const stored = tasks.find((task) => task.channel !== undefined)
  if (stored !== undefined && results === undefined) {
    invalid('results', `given, because task "${stored.name}" has a channel`)
  }
  const signer = options.signingKey === undefined ? undefined : ResultSigner.of(options.signingKey)
  if (options.signingKey !== undefined && signer === undefined) {
    invalid('signingKey', 'an Ed25519 private key in PEM format')
  }
  return {
    definitions,
    types: [...definitions.keys()],
    concurrency,
    workerId,
    /** Whether the name was given and may be used by later processes. */
    isNamed: options.workerId !== undefined,
    /** Distinguishes this process from others with its name; undefined for a random name. */
    instanceId: options.workerId === undefined ? undefined : crypto.randomUUID(),
    reclaim: options.reclaim ?? false,
    capabilities: options.capabilities,
    version: options.version,
    publish: options.publish ?? true,
    tools: options.tools,
    /** The lease length of claims. */
    leaseSeconds: shortest(tasks, leaseSeconds),
    pollSeconds,
    stopMs: stopSeconds * 1000,
    killMs: killSeconds * 1000,
    signals: options.signals ?? true,
    logger: logger === false ? silentLogger : logger,
    sendsLogs: options.sendLogs ?? true,
    schedules: options.schedules,
    hooks: options.hooks && hooksOf('worker({ hooks })', options.hooks),
    results,
    signer,
  }
}

/** One request claims all types. A task that needs a longer lease gets it before its handler runs. */
function shortest(tasks: readonly TaskDefinition[], common: number | undefined): number | undefined {
  const lengths = tasks.map((task) => task.leaseSeconds ?? common)
  const given = lengths.filter((length) => length !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}

function newWorkerId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6))
  return `worker.${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

function checkNumber(name: keyof WorkerOptions, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    invalid(name, `an integer from ${min} to ${max}`)
  }
}

function checkTime(name: keyof WorkerOptions, value: number): void {
  if (!Number.isFinite(value) || value < 0) invalid(name, 'a number of at least 0')
}

function invalid(name: keyof WorkerOptions, expected: string): never {
  throw new TypeError(`worker({ ${name} }): must be ${expected}.`)
}
