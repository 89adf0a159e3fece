import { Fault } from '../../core/errors.ts'
import { NO_OFFERS, promptCall, readOf, type UpstreamOffers } from '../../features/upstreams/reads.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'
import type { Connection } from './connection.ts'
import { offersOf } from './offers.ts'
import { outwardName } from './tool-name.ts'

export interface OfferWatchParts {
  readonly record: UpstreamRecord
  /** What is offered may be something else. */
  readonly offersChanged: () => void
  /** A list could not be had. The last one stays. */
  readonly failed: (error: unknown) => void
}

/** As much of a connection as this takes. */
export type Offering = Pick<Connection, 'listOffers' | 'onOffersChanged'>

/** Lists are not asked for more often than this, whatever the upstream says, and never become older than that. */
const PAUSE_MS = 1_000
const MAX_AGE_MS = 300_000
/** After this time a list is asked for again that could not be had. */
const RETRY_MS = 10_000

/** Keeps the prompts and resources of an upstream: read once per connection, when they change, and when they are old. */
export class OfferWatch {
  readonly #parts: OfferWatchParts
  #offers = NO_OFFERS
  #connection: Offering | undefined
  #reading: Promise<void> | undefined
  #readAt: number | undefined
  #again = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: OfferWatchParts) {
    this.#parts = parts
  }

  get offers(): UpstreamOffers {
    return this.#offers
  }

  /** Whether the upstream has said what it offers. */
  get isKnown(): boolean {
    return this.#readAt !== undefined
  }

  /** Reads the lists of a new connection. Never rejects: an upstream without them is still good for its tools. */
  async begin(connection: Offering): Promise<void> {
    this.#connection = connection
    connection.onOffersChanged(() => this.#refresh())
    await this.#read()
  }

  /** Asks no more, and resolves when nothing is under way. What is offered stays. */
  async end(): Promise<void> {
    this.#connection = undefined
    this.#again = false
    clearTimeout(this.#timer)
    await this.#reading
  }

  /** The call of this name, if it reads what is offered. */
  find(call: string): UpstreamTool | undefined {
    const read = readOf(call)
    const { prompts, having } = this.#offers
    const prompt = read?.kind === 'prompt' ? prompts.find(({ prompt }) => prompt === read.name) : undefined
    if (read === undefined || (read.kind === 'prompt' ? prompt === undefined : having.resources.length === 0))
      return undefined
    const { name: upstream, categories } = this.#parts.record
    return {
      name: prompt?.name ?? outwardName(upstream, call),
      upstream,
      tool: prompt === undefined ? call : promptCall(prompt.prompt),
      category: (Object.hasOwn(categories, call) ? categories[call] : undefined) ?? null,
      hash: '',
      description: prompt?.description ?? '',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true, idempotentHint: true },
    }
  }

  async #read(): Promise<void> {
    const connection = this.#connection
    if (connection === undefined || this.#reading !== undefined) return
    this.#again = false
    this.#reading = this.#readOnce(connection)
    await this.#reading
    this.#reading = undefined
    if (this.#again) this.#refresh()
  }

  async #readOnce(connection: Offering): Promise<void> {
    const { record, offersChanged, failed } = this.#parts
    try {
      const raw = await connection.listOffers()
      if (this.#connection !== connection) return
      this.#offers = offersOf(record, raw)
      this.#readAt = Date.now()
      this.#after(MAX_AGE_MS)
      offersChanged()
    } catch (error) {
      if (this.#connection !== connection) return
      // A connection that is lost is noted by whoever keeps it.
      if (!(error instanceof Fault && error.code === 'UPSTREAM_UNAVAILABLE')) failed(error)
      this.#after(RETRY_MS)
    }
  }

  #refresh(): void {
    if (this.#reading !== undefined) this.#again = true
    else this.#after(Math.max(0, (this.#readAt ?? 0) + PAUSE_MS - Date.now()))
  }

  #after(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#connection === undefined) return
    this.#timer = setTimeout(() => void this.#read(), ms).unref()
  }
}
