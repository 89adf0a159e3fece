import { Fault } from '../../core/errors.ts'
import { NO_OFFERS, promptCall, readOf, type UpstreamOffers } from '../../features/upstreams/reads.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'
import { type Catalogue, catalogueOf, categoryOf } from './catalogue.ts'
import type { Connection } from './connection.ts'
import { type ReadDefinition, readDefinition } from './definition.ts'
import { offersOf, type RawOffers, unique } from './offers.ts'
import type { Pin } from './pins.ts'
import { outwardName } from './tool-name.ts'

interface ListWatchDeps<Source, List> {
  read(source: Source): Promise<List>
  /** Stores a list. Returns the time in ms after which it is read again. */
  apply(list: List): number
  /** The list could not be read. The previous one stays. */
  failed(error: unknown): void
}

/** The minimum time between two reads of a list, whatever the upstream announces. */
const PAUSE_MS = 1_000
/** The pause after a read has failed. */
const RETRY_MS = 10_000
/** The maximum age of a list, and the limits for the age that an upstream may choose. */
const MAX_AGE_MS = 300_000
const TTL = { min: 10_000, max: 3_600_000 }

/** Keeps a list of an upstream current: reads it once per connection, after changes, and when it is too old. */
class ListWatch<Source, List> {
  readonly #deps: ListWatchDeps<Source, List>
  #source: Source | undefined
  #reading: Promise<void> | undefined
  #readAt: number | undefined
  #again = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ListWatchDeps<Source, List>) {
    this.#deps = deps
  }

  /** When the list was last read; undefined if never. */
  get readAt(): number | undefined {
    return this.#readAt
  }

  /** Reads the list of a new connection. Rejects if that fails. */
  async begin(source: Source): Promise<void> {
    this.#source = source
    await this.#read(source)
  }

  /** Reads the list of a new connection. Never rejects: a failed read is repeated later. */
  async attempt(source: Source): Promise<void> {
    this.#source = source
    await this.#readAgain()
  }

  /** Stops reading and resolves when no read is running. The list stays. */
  async end(): Promise<void> {
    this.#source = undefined
    this.#again = false
    clearTimeout(this.#timer)
    await this.#reading?.catch(() => {})
  }

  /** Reads the list again soon. */
  refresh(): void {
    if (this.#reading !== undefined) this.#again = true
    else this.#schedule(Math.max(0, (this.#readAt ?? 0) + PAUSE_MS - Date.now()))
  }

  async #readAgain(): Promise<void> {
    const source = this.#source
    if (source === undefined || this.#reading !== undefined) return
    this.#again = false
    await this.#read(source).catch((error: unknown) => {
      if (this.#source !== source) return
      this.#deps.failed(error)
      this.#schedule(RETRY_MS)
      if (this.#again) this.refresh()
    })
  }

  async #read(source: Source): Promise<void> {
    this.#reading = this.#readOnce(source)
    try {
      await this.#reading
    } finally {
      this.#reading = undefined
    }
    if (this.#again) this.refresh()
  }

  async #readOnce(source: Source): Promise<void> {
    const list = await this.#deps.read(source)
    if (this.#source !== source) return
    this.#readAt = Date.now()
    this.#schedule(this.#deps.apply(list))
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#source === undefined) return
    this.#timer = setTimeout(() => void this.#readAgain(), ms).unref()
  }
}

export interface ToolWatchDeps {
  readonly record: UpstreamRecord
  /** Stores the definitions that were seen. Resolves when they are durable. */
  readonly pin: (list: readonly ReadDefinition[]) => Promise<void>
  /** The known definitions by the name of the tool. */
  readonly pins: () => ReadonlyMap<string, Pin>
  /** The catalogue has changed. */
  readonly changed: () => void
  readonly failed: (error: unknown) => void
}

export type ToolSource = Pick<Connection, 'list' | 'onListChanged' | 'isModern'>

/** The tools of an upstream. */
export class ToolWatch {
  readonly #deps: ToolWatchDeps
  readonly #watch: ListWatch<ToolSource, { list: readonly ReadDefinition[]; ttlMs: number | undefined }>
  #list: readonly ReadDefinition[] = []
  #catalogue: Catalogue

  constructor(deps: ToolWatchDeps) {
    const { record, pin, pins, failed } = deps
    this.#deps = deps
    this.#catalogue = catalogueOf(record, [], pins())
    this.#watch = new ListWatch({
      async read(source) {
        const overHttp = record.transport.type === 'http' && source.isModern
        const { tools, ttlMs } = await source.list((tool) => readDefinition(tool, overHttp))
        const list = unique(tools, (read) => ('definition' in read ? read.definition.name : read.name))
        await pin(list)
        return { list, ttlMs }
      },
      apply: ({ list, ttlMs }) => {
        this.#list = list
        this.review()
        return Math.min(Math.max(ttlMs ?? MAX_AGE_MS, TTL.min), TTL.max)
      },
      failed,
    })
  }

  get catalogue(): Catalogue {
    return this.#catalogue
  }

  get listedAt(): number | undefined {
    return this.#watch.readAt
  }

  async begin(source: ToolSource): Promise<void> {
    source.onListChanged(['tools'], () => this.refresh())
    await this.#watch.begin(source)
  }

  end(): Promise<void> {
    return this.#watch.end()
  }

  refresh(): void {
    this.#watch.refresh()
  }

  /** Builds the catalogue again after the accepted definitions have changed. */
  review(): void {
    const { record, pins, changed } = this.#deps
    this.#catalogue = catalogueOf(record, this.#list, pins())
    changed()
  }
}

export interface OfferWatchDeps {
  readonly record: UpstreamRecord
  /** The prompts or resources may have changed. */
  readonly offersChanged: () => void
  readonly failed: (error: unknown) => void
}

type OfferSource = Pick<Connection, 'listOffers' | 'onListChanged'>

/** The prompts and resources of an upstream. */
export class OfferWatch {
  readonly #record: UpstreamRecord
  readonly #watch: ListWatch<OfferSource, RawOffers>
  #offers = NO_OFFERS

  constructor({ record, offersChanged, failed }: OfferWatchDeps) {
    this.#record = record
    this.#watch = new ListWatch({
      read: (source) => source.listOffers(),
      apply: (raw) => {
        this.#offers = offersOf(record, raw)
        offersChanged()
        return MAX_AGE_MS
      },
      // A lost connection is reported by its owner.
      failed: (error) => {
        if (!(error instanceof Fault && error.code === 'UPSTREAM_UNAVAILABLE')) failed(error)
      },
    })
  }

  get offers(): UpstreamOffers {
    return this.#offers
  }

  /** Whether the offers of the upstream were ever read. */
  get isKnown(): boolean {
    return this.#watch.readAt !== undefined
  }

  /** Never rejects: an upstream whose prompts cannot be listed can still serve its tools. */
  async begin(source: OfferSource): Promise<void> {
    source.onListChanged(['prompts', 'resources'], () => this.#watch.refresh())
    await this.#watch.attempt(source)
  }

  end(): Promise<void> {
    return this.#watch.end()
  }

  /** The call that reads an offered prompt or resource, as a tool. */
  find(call: string): UpstreamTool | undefined {
    const read = readOf(call)
    const { prompts, having } = this.#offers
    const prompt = read?.kind === 'prompt' ? prompts.find(({ prompt }) => prompt === read.name) : undefined
    if (read === undefined || (read.kind === 'prompt' ? prompt === undefined : having.resources.length === 0))
      return undefined
    const { name: upstream } = this.#record
    return {
      name: prompt?.name ?? outwardName(upstream, call),
      upstream,
      tool: prompt === undefined ? call : promptCall(prompt.prompt),
      category: categoryOf(this.#record, call),
      hash: '',
      description: prompt?.description ?? '',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true, idempotentHint: true },
    }
  }
}
