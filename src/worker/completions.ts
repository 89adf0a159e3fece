import type { CompleteInput } from '../client/operations.ts'
import { GateError } from '../client/transport.ts'
import { type Calls, isError } from './calls.ts'
import { soon } from './clock.ts'

interface Completion {
  readonly item: CompleteInput
  readonly bytes: number
  resolve(): void
  reject(error: unknown): void
}

const MAX_ITEMS = 1000

/** Half of what a server takes in one body, so that there is room for the rest of it. */
const MAX_BYTES = 4 * 1024 * 1024

/** More would only make the requests smaller. */
const MAX_REQUESTS = 4

/** A body that is refused as a whole, because of one of its items. */
const SPOILED: ReadonlySet<number> = new Set([400, 413])

/** Completions that come in the same moment, or while others are under way, go in one request. */
export class Completions {
  readonly #calls: Calls
  readonly #waiting: Completion[] = []
  #requests = 0
  #isDue = false

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Resolves when the server has taken it, and rejects with a GateError if it does not. */
  complete(item: CompleteInput, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, bytes, resolve, reject })
      if (this.#isDue) return
      this.#isDue = true
      // The claim that this moment makes room for goes first: new work then arrives while this is being written down.
      soon(() => soon(() => this.#begin()))
    })
  }

  #begin(): void {
    this.#isDue = false
    this.#send()
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
      if (half < 1 || !(error instanceof GateError) || !SPOILED.has(error.status)) {
        for (const { reject } of completions) reject(error)
        return
      }
      await this.#deliver(completions.slice(0, half))
      await this.#deliver(completions.slice(half))
    }
  }
}

interface Refused {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly details?: unknown
}

const NO_ANSWER: Refused = { code: 'NO_ANSWER', message: 'The answer leaves it out.', retryable: true }

function refusal({ code, message, retryable, details }: Refused = NO_ANSWER): GateError {
  const given = typeof details === 'object' && details !== null ? { ...details } : undefined
  return new GateError(message, { code, status: 200, retryable, details: given })
}
