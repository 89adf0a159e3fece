import { Worker } from 'node:worker_threads'
import type { CanonicalJson } from '../../core/json/json.ts'

/** Why a value does not match. `params` is JSON. */
export interface Mismatch {
  readonly instancePath: string
  readonly keyword: string
  readonly params: string
  readonly message: string | undefined
}

/** The result of a check. An empty verdict means that the value matches, or that the schema is valid. */
export interface Verdict {
  readonly schemaError?: string
  readonly mismatch?: Mismatch
  /** Not decided: the check took too long or too much memory, or waited too long. */
  readonly undecided?: 'time' | 'memory' | 'waited'
}

export interface SchemaJob {
  readonly schema: CanonicalJson
  /** If null, only the schema is checked. */
  readonly value: CanonicalJson | null
  /** The request. After a check that took too long, other checks of the same request and schema are skipped. */
  readonly request?: object | undefined
}

export interface ThreadLimits {
  /** CPU time of one check, including compilation. Ordinary checks take far less than a millisecond. */
  readonly checkMs: number
  /** Memory limit of the thread. It is terminated when it needs more. */
  readonly memoryMb: number
  /** Limits of waiting checks: duration, number and total size. */
  readonly waitMs: number
  readonly waiting: number
  readonly waitingCharacters: number
}

const LIMITS: ThreadLimits = {
  checkMs: 1000,
  memoryMb: 256,
  waitMs: 10_000,
  waiting: 10_000,
  waitingCharacters: 64 * 1024 * 1024,
}

/** Maximum number of checks that the thread has at a time, so that it need not wait for the main thread between them. */
const WINDOW = 32
/** After a check that took longer, the thread gets one check at a time, so that other schemas are not delayed. */
const SLOW_MS = 20

/** How often the time of a check is extended because the machine was busy. */
const MAX_EXTENSIONS = 4

const CODE = new URL('./schema-worker.js', import.meta.url)

interface Waiting extends SchemaJob {
  readonly since: number
  resolve(verdict: Verdict): void
  reject(error: unknown): void
}

/**
 * Compiles schemas and checks values in a worker thread, which is started by the first check and replaced when one
 * takes too long. Schemas are served round-robin, so that a slow one delays the others by one check at a time.
 */
export class SchemaThread {
  readonly #limits: ThreadLimits
  /** By schema, in round-robin order. */
  readonly #queues = new Map<CanonicalJson, Waiting[]>()
  #waiting = 0
  #characters = 0
  #worker: Worker | undefined
  #isReady = false
  /** Number of checks that the thread has finished. It reports several at a time, so some may not be received yet. */
  #made = new Int32Array(new SharedArrayBuffer(4))
  #received = 0
  #isSending = false
  #isClosed = false
  /** Checks that the thread has, in the order of its results. */
  #sent: Waiting[] = []
  #startedAt = 0
  #lastMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: Partial<ThreadLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  check(job: SchemaJob): Promise<Verdict> {
    const { waiting, waitingCharacters } = this.#limits
    if (this.#waiting >= waiting || this.#characters >= waitingCharacters) {
      return Promise.resolve({ undecided: 'waited' })
    }
    return new Promise((resolve, reject) => {
      this.#add({ ...job, since: performance.now(), resolve, reject })
      this.#sendSoon()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const job of [...this.#sent.splice(0), ...this.#takeAll()]) job.resolve({ undecided: 'waited' })
    await this.#stop()
  }

  /** Sends after the current turn of the event loop, in which a batch adds all its checks. */
  #sendSoon(): void {
    if (this.#isSending) return
    this.#isSending = true
    setImmediate(() => {
      this.#isSending = false
      this.#send()
    })
  }

  #send(): void {
    const wasIdle = this.#sent.length === 0
    const batch: Waiting[] = []
    while (this.#sent.length < (this.#lastMs > SLOW_MS ? 1 : WINDOW)) {
      const job = this.#next()
      if (job === undefined) break
      if (this.#isClosed || performance.now() - job.since > this.#limits.waitMs) {
        job.resolve({ undecided: 'waited' })
        continue
      }
      batch.push(job)
      this.#sent.push(job)
    }
    if (batch.length > 0) {
      this.#worker ??= this.#start()
      this.#worker.postMessage(batch.map(({ schema, value }) => ({ schema, value })))
      if (wasIdle) this.#begin()
    }
    // An idle thread keeps no process alive.
    if (this.#sent.length > 0) this.#worker?.ref()
    else this.#worker?.unref()
  }

  /** The thread begins its next job. The time that it takes to load does not count. */
  #begin(): void {
    clearTimeout(this.#timer)
    this.#startedAt = performance.now()
    const [job] = this.#sent
    if (job !== undefined && this.#isReady) this.#limit(job, process.cpuUsage(), MAX_EXTENSIONS)
  }

  #limit(job: Waiting, before: NodeJS.CpuUsage, extensions: number): void {
    const { checkMs } = this.#limits
    const elapsed = () => {
      if (this.#sent[0] !== job) return
      const { user, system } = process.cpuUsage(before)
      // On a busy machine the thread may have had no CPU time.
      if (extensions > 0 && (user + system) / 1000 < checkMs) this.#limit(job, before, extensions - 1)
      else this.#failed('time')
    }
    // If the main thread was busy, the result may have arrived already: it is read before the immediate runs.
    this.#timer = setTimeout(() => setImmediate(elapsed), checkMs)
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: this.#limits.memoryMb, maxYoungGenerationSizeMb: 32 }
    const made = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    const worker = new Worker(CODE, { resourceLimits, env: {}, execArgv: [], workerData: { made } })
    this.#isReady = false
    this.#made = new Int32Array(made)
    this.#received = 0
    worker.on('message', (message: 'ready' | readonly Verdict[]) => {
      if (worker === this.#worker) this.#onMessage(message)
    })
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#onError(error)
    })
    return worker
  }

  #onMessage(message: 'ready' | readonly Verdict[]): void {
    if (message === 'ready') {
      this.#isReady = true
      this.#begin()
      return
    }
    this.#lastMs = performance.now() - this.#startedAt
    this.#received += message.length
    for (const verdict of message) this.#sent.shift()?.resolve(verdict)
    this.#begin()
    this.#send()
  }

  #onError(error: unknown): void {
    if (!this.#isReady || !isOutOfMemory(error)) {
      // A bug, or a thread that cannot be started: no check may wait for it.
      for (const job of [...this.#sent.splice(0), ...this.#takeAll()]) job.reject(error)
    }
    this.#failed('memory')
  }

  /** Terminates the thread and continues with a new one, without the job that failed. */
  #failed(undecided: 'time' | 'memory'): void {
    const sent = this.#sent.splice(0)
    const [failed] = sent.splice(Atomics.load(this.#made, 0) - this.#received, 1)
    // Checks that were finished but not received are repeated.
    const left = [...sent, ...this.#takeAll()]
    void this.#stop()
    this.#lastMs = this.#limits.checkMs
    failed?.resolve({ undecided })
    for (const job of left) {
      const isSameRequest = failed?.request !== undefined && job.request === failed.request
      if (isSameRequest && job.schema === failed.schema) job.resolve({ undecided })
      else this.#add(job)
    }
    this.#send()
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #add(job: Waiting): void {
    const queue = this.#queues.get(job.schema)
    if (queue === undefined) this.#queues.set(job.schema, [job])
    else queue.push(job)
    this.#waiting++
    this.#characters += sizeOf(job)
  }

  #next(): Waiting | undefined {
    for (const [schema, queue] of this.#queues) {
      const job = queue.shift()
      this.#queues.delete(schema)
      if (queue.length > 0) this.#queues.set(schema, queue)
      if (job === undefined) continue
      this.#waiting--
      this.#characters -= sizeOf(job)
      return job
    }
    return undefined
  }

  #takeAll(): Waiting[] {
    const all = [...this.#queues.values()].flat()
    this.#queues.clear()
    this.#waiting = 0
    this.#characters = 0
    return all
  }
}

function sizeOf({ schema, value }: SchemaJob): number {
  return schema.length + (value?.length ?? 0)
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
