import { Worker } from 'node:worker_threads'
import type { Database } from '../config/database.ts'
import type { GrowFrom, Growth } from '../features/ledger-log/growth.ts'
import type { TenantRef } from '../store/store.ts'

export interface GrowthRequest {
  readonly tenant: TenantRef
  readonly from: GrowFrom
}

export type GrowthResponse =
  | { readonly growth: Growth | undefined; readonly failure?: never }
  | { readonly growth?: never; readonly failure: string }

const CODE = new URL('./ledger-worker.js', import.meta.url)

/**
 * Hashes receipts in another thread, with its own connection to the database: it takes longer than writing them, and no
 * request should wait for it.
 */
export class LedgerThread {
  readonly #database: Database
  #worker: Worker | undefined
  /** The requests are served in turn. */
  #last: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(database: Database) {
    this.#database = database
  }

  grow(tenant: TenantRef, from: GrowFrom): Promise<Growth | undefined> {
    const growing = this.#last.then(() => this.#ask({ tenant, from }))
    this.#last = growing.catch(() => {})
    return growing
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#worker?.terminate()
  }

  async #ask(request: GrowthRequest): Promise<Growth | undefined> {
    if (this.#isStopped) throw new Error('the thread has been stopped')
    const worker = this.#worker ?? this.#start()
    const { growth, failure } = await new Promise<GrowthResponse>((resolve, reject) => {
      const end = () => {
        worker.off('message', answered).off('error', failed).off('exit', exited)
      }
      const answered = (response: GrowthResponse) => {
        end()
        resolve(response)
      }
      const failed = (error: unknown) => {
        end()
        reject(error)
      }
      const exited = () => failed(new Error('the thread has ended'))
      worker.on('message', answered).on('error', failed).on('exit', exited)
      worker.postMessage(request)
    })
    if (failure !== undefined) throw new Error(failure)
    return growth
  }

  #start(): Worker {
    const worker = new Worker(CODE, { workerData: this.#database })
    worker.unref()
    // An unexpected end is noticed by the request that waits, and the next one starts another thread.
    worker.on('error', () => {})
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    this.#worker = worker
    return worker
  }
}

/** Undefined where no thread can read the database, or load the code: Node 20 does not load TypeScript in threads. */
export function openLedgerThread(database: Database): LedgerThread | undefined {
  const isReadable = database.kind !== 'sqlite' || database.path !== ':memory:'
  return isReadable && import.meta.url.endsWith('.js') ? new LedgerThread(database) : undefined
}
