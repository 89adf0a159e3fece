import { GateError } from '../client/gate-error.ts'
import type { CompleteInput, ItemError } from '../client/operations.ts'
import { type Calls, isError } from './calls.ts'
import { soon } from './timing.ts'

interface Completion {
  readonly item: CompleteInput
  readonly bytes: number
  resolve(): void
  reject(error: unknown): void
}

const MAX_ITEMS = 1000

/** Half of the largest request body, which leaves room for the other fields. */
const MAX_BYTES = 4 * 1024 * 1024

/** More concurrent requests would only make each batch smaller. */
const MAX_REQUESTS = 4

/** Statuses with which the server refuses a whole batch because of one item. */
const BATCH_REFUSED: ReadonlySet<number> = new Set([400, 413])

/** Batches completions that arrive at the same time, or while other requests are pending. */
export class Completions {
  readonly #calls: Calls
  readonly #waiting: Completion[] = []
  #requests = 0
  #isScheduled = false

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Resolves when the server has accepted the completion; rejects with a GateError if it refuses. */
  complete(item: CompleteInput, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, bytes, resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      // The next claim is sent first, so that new tasks arrive while the server commits these results.
      soon(() =>
        soon(() => {
          this.#isScheduled = false
          this.#send()
        }),
      )
    })
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#requests < MAX_REQUESTS) {
      this.#requests++
      this.#deliver(this.#take()).finally(() => {
        this.#requests--
        this.#send()
      })
    }
  }

  #take(): Completion[] {
    let bytes = 0
    let count = 0
    for (const completion of this.#waiting) {
      bytes += completion.bytes
      if (count > 0 && (count === MAX_ITEMS || bytes > MAX_BYTES)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #deliver(completions: readonly Completion[]): Promise<void> {
    try {
      const results = await this.#calls.completeMany(completions.map(({ item }) => item))
      completions.forEach((completion, i) => {
        const result = results[i]
        if (result !== undefined && !isError(result)) completion.resolve()
        else completion.reject(refusal(result))
      })
    } catch (error) {
      const half = completions.length / 2
      if (half < 1 || !(error instanceof GateError) || !BATCH_REFUSED.has(error.status)) {
        for (const { reject } of completions) reject(error)
        return
      }
      await this.#deliver(completions.slice(0, half))
      await this.#deliver(completions.slice(half))
    }
  }
}

type Refusal = Pick<ItemError, 'code' | 'message' | 'retryable'> & { readonly details?: unknown }

const MISSING: Refusal = {
  code: 'NO_ANSWER',
  message: 'The response has no entry for the task.',
  retryable: true,
}

function refusal({ code, message, retryable, details }: Refusal = MISSING): GateError {
  const object = typeof details === 'object' && details !== null ? { ...details } : undefined
  return new GateError(message, { code, status: 200, retryable, details: object })
}
