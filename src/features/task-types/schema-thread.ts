import { Worker } from 'node:worker_threads'
import type { CanonicalJson } from '../../core/json/json.ts'

/** Why a value does not fit. `params` is JSON. */
export interface Mismatch {
  readonly instancePath: string
  readonly keyword: string
  readonly params: string
  readonly message: string | undefined
}

/** What became of a check. Nothing at all means that the value fits, or that the schema is one. */
export interface Verdict {
  readonly schemaError?: string
  readonly mismatch?: Mismatch
  /** It was not decided: it took too long or too much memory, or it waited too long for its turn. */
  readonly undecided?: 'time' | 'memory' | 'waited'
}

export interface SchemaJob {
  readonly schema: CanonicalJson
  /** Only the schema is checked if it is null. */
  readonly value: CanonicalJson | null
  /** Checks of one request. After one that took too long, its other checks of the same schema are not made. */
  readonly request?: object | undefined
}

export interface ThreadLimits {
  /** Computing time of one check, compilation included. Ordinary ones take far less than a millisecond. */
  readonly checkMs: number
  /** What the thread may use. It is ended when it needs more. */
  readonly memoryMb: number
  /** Of what waits: for how long, how many, and how large. */
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

/** Checks that the thread may have at a time, so that it need not wait for this one between them. */
const WINDOW = 32
/** After a check that took so long the thread gets only one at a time, so that others have their turn. */
const SLOW_MS = 20

/** How often a check gets the same time again because the machine had none for it. */
const MAX_EXTENSIONS = 4

const CODE = new URL('./schema-worker.js', import.meta.url)

interface Waiting extends SchemaJob {
  readonly since: number
  resolve(verdict: Verdict): void
  reject(error: unknown): void
}

/**
 * Compiles schemas and checks values in a worker thread, which is started by the first check and replaced when one
 * takes too long. Schemas take turns, so that one that is slow delays the others by one check at a time.
 */
export class SchemaThread {
  readonly #limits: ThreadLimits
  /** By schema, in the order of their turns. */
  readonly #queues = new Map<CanonicalJson, Waiting[]>()
  #waiting = 0
  #characters = 0
  #worker: Worker | undefined
  #isReady = false
  /** Checks that the thread has made. It answers several at once, so not all of them were heard of. */
  #made = new Int32Array(new SharedArrayBuffer(4))
  #heardOf = 0
  #isSending = false
  #isClosed = false
  /** What the thread has, in the order in which it answers. */
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

  /** After the current turn of the event loop, in which a batch asks for all its checks. */
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

  /** The thread has turned to its next job. The time that it takes to load is not the job's. */
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
      // On a busy machine the time may have passed without the thread's doing anything.
      if (extensions > 0 && (user + system) / 1000 < checkMs) this.#limit(job, before, extensions - 1)
      else this.#failed('time')
    }
    // The answer may be there already, if this thread was busy: it is read before the immediate.
    this.#timer = setTimeout(() => setImmediate(elapsed), checkMs)
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: this.#limits.memoryMb, maxYoungGenerationSizeMb: 32 }
    const made = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    const worker = new Worker(CODE, { resourceLimits, env: {}, execArgv: [], workerData: { made } })
    this.#isReady = false
    this.#made = new Int32Array(made)
    this.#heardOf = 0
    worker.on('message', (message: 'ready' | readonly Verdict[]) => {
      if (worker === this.#worker) this.#heard(message)
    })
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#broke(error)
    })
    return worker
  }

  #heard(message: 'ready' | readonly Verdict[]): void {
    if (message === 'ready') {
      this.#isReady = true
      this.#begin()
      return
    }
    this.#lastMs = performance.now() - this.#startedAt
    this.#heardOf += message.length
    for (const verdict of message) this.#sent.shift()?.resolve(verdict)
    this.#begin()
    this.#send()
  }

  #broke(error: unknown): void {
    if (!this.#isReady || !isOutOfMemory(error)) {
      // A bug, or a thread that cannot be started: nobody must wait for it.
      for (const job of [...this.#sent.splice(0), ...this.#takeAll()]) job.reject(error)
    }
    this.#failed('memory')
  }

  /** Ends the thread and goes on with a new one, without the job that it was at. */
  #failed(undecided: 'time' | 'memory'): void {
    const sent = this.#sent.splice(0)
    const [failed] = sent.splice(Atomics.load(this.#made, 0) - this.#heardOf, 1)
    // Those that were made and not heard of are made again.
    const left = [...sent, ...this.#takeAll()]
    void this.#stop()
    this.#lastMs = this.#limits.checkMs
    failed?.resolve({ undecided })
    for (const job of left) {
      const isAlike = failed?.request !== undefined && job.request === failed.request
      if (isAlike && job.schema === failed.schema) job.resolve({ undecided })
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
