import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import { type Catalogue, catalogueOf } from './catalogue.ts'
import type { Connection } from './connection.ts'
import { type ReadDefinition, readDefinition } from './definition.ts'
import type { Pin } from './pins.ts'

export interface ToolWatchParts {
  readonly record: UpstreamRecord
  /** Notes what was seen of its tools, and resolves when that is safe. */
  readonly pin: (list: readonly ReadDefinition[]) => Promise<void>
  /** What is known of its tools, by their names. */
  readonly pins: () => ReadonlyMap<string, Pin>
  /** The catalogue is another one. */
  readonly changed: () => void
  /** A list could not be had. The last one stays. */
  readonly failed: (error: unknown) => void
}

/** As much of a connection as this takes. */
export type Listed = Pick<Connection, 'list' | 'onListChanged' | 'isModern'>

/** Lists are not asked for more often than this, whatever the upstream says. */
const PAUSE_MS = 1_000
/** How old a list may become if the upstream does not say; and between which limits it may say so. */
const MAX_AGE_MS = 300_000
const HINT = { min: 10_000, max: 3_600_000 }

/** Keeps the list of an upstream's tools: read once per connection, when it is said to have changed, and when it is old. */
export class ToolWatch {
  readonly #parts: ToolWatchParts
  #list: readonly ReadDefinition[] = []
  #catalogue: Catalogue
  #listedAt: number | undefined
  #connection: Listed | undefined
  #reading: Promise<void> | undefined
  #again = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: ToolWatchParts) {
    this.#parts = parts
    this.#catalogue = catalogueOf(parts.record, [], parts.pins())
  }

  get catalogue(): Catalogue {
    return this.#catalogue
  }

  get listedAt(): number | undefined {
    return this.#listedAt
  }

  /** Reads the list of a new connection; rejects if it cannot. From then on the list is kept up to date. */
  async begin(connection: Listed): Promise<void> {
    this.#connection = connection
    connection.onListChanged(() => this.refresh())
    this.#reading = this.#read(connection)
    try {
      await this.#reading
    } finally {
      this.#reading = undefined
    }
    if (this.#again) this.refresh()
  }

  /** Asks no more, and resolves when nothing is under way. The catalogue stays. */
  async end(): Promise<void> {
    this.#connection = undefined
    this.#again = false
    clearTimeout(this.#timer)
    await this.#reading?.catch(() => {})
  }

  /** Judges the last list anew, after what is accepted has changed. */
  review(): void {
    const { record, pins, changed } = this.#parts
    this.#catalogue = catalogueOf(record, this.#list, pins())
    changed()
  }

  async #read(connection: Listed): Promise<void> {
    const overHttp = this.#parts.record.transport.type === 'http' && connection.isModern
    const { tools, ttlMs } = await connection.list((tool) => readDefinition(tool, overHttp))
    const list = firstOfEach(tools)
    await this.#parts.pin(list)
    if (this.#connection !== connection) return
    this.#list = list
    this.#listedAt = Date.now()
    this.review()
    this.#after(Math.min(Math.max(ttlMs ?? MAX_AGE_MS, HINT.min), HINT.max))
  }

  /** Reads the list again soon. */
  refresh(): void {
    if (this.#reading !== undefined) this.#again = true
    else this.#after(Math.max(0, (this.#listedAt ?? 0) + PAUSE_MS - Date.now()))
  }

  #after(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#connection === undefined) return
    this.#timer = setTimeout(() => void this.#readAgain(), ms)
    this.#timer.unref()
  }

  async #readAgain(): Promise<void> {
    const connection = this.#connection
    if (connection === undefined || this.#reading !== undefined) return
    this.#again = false
    this.#reading = this.#read(connection).catch((error) => {
      if (this.#connection !== connection) return
      this.#parts.failed(error)
      this.#after(HINT.min)
    })
    await this.#reading
    this.#reading = undefined
    if (this.#again) this.refresh()
  }
}

/** A list that has a name twice means the first. */
function firstOfEach(list: readonly ReadDefinition[]): ReadDefinition[] {
  const byName = new Map<string, ReadDefinition>()
  for (const read of list) {
    const name = 'definition' in read ? read.definition.name : read.name
    if (!byName.has(name)) byName.set(name, read)
  }
  return [...byName.values()]
}
