import { createHash } from 'node:crypto'
import { Fault, invalid } from '../../core/errors.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import { addUpstreamInput, type UpstreamDraft, type UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { Entries, Entry } from '../../store/entries.ts'
import type { ReadDefinition } from './definition.ts'
import { acceptance, PIN_KIND, type Pin, pinEntry, pinName, pinOf, type StoredPin, sightOf } from './pins.ts'

const RECORD_KIND = 'upstream'
const PAGE = 200

export interface UpstreamStorage {
  readonly entries: Entries
  readonly tenant: number
  /** Whether other processes may change it too. */
  readonly shared: boolean
}

/** An upstream that was added by API. */
export interface StoredRecord {
  readonly record: UpstreamDraft
  readonly updated_at: number
  readonly updated_by: PrincipalKey
}

/** The stored upstreams and pins. */
export interface Registry {
  /** A hash of all entries. */
  readonly version: string
  readonly records: ReadonlyMap<string, StoredRecord & { readonly version: number }>
  /** By upstream, then by tool. */
  readonly pins: ReadonlyMap<string, ReadonlyMap<string, StoredPin>>
}

const EMPTY: Registry = { version: '', records: new Map(), pins: new Map() }

/** The registry in memory. It is read again after each change, and every few seconds if other servers may change it. */
export class RegistryCopy {
  readonly #storage: UpstreamStorage
  readonly #copies: TenantCopies<Registry>

  constructor(storage: UpstreamStorage, replaced: () => void, report: (error: unknown) => void) {
    this.#storage = storage
    this.#copies = new TenantCopies({
      shared: storage.shared,
      read: (_tenant, before) => this.#read(before),
      replaced: (_tenant, copy, before) => {
        if (copy !== before) replaced()
      },
      report,
    })
  }

  get now(): Registry {
    return this.#copies.known(this.#storage.tenant) ?? EMPTY
  }

  refresh(): Promise<Registry> {
    return this.#copies.refresh(this.#storage.tenant)
  }

  /** False if the stored version is another one. */
  async putRecord(kept: StoredRecord, version: number): Promise<boolean> {
    const { entries, tenant } = this.#storage
    const { name } = kept.record
    const entry = { tenant, kind: RECORD_KIND, name, value: JSON.stringify(kept), due_at: null }
    return (await entries.put(entry, version)) !== undefined
  }

  async #putPin(pin: Pin, version: number): Promise<boolean> {
    return (await this.#storage.entries.put(pinEntry(this.#storage.tenant, pin), version)) !== undefined
  }

  /** Resolves with whether it existed. */
  removeRecord(name: string): Promise<boolean> {
    return this.#storage.entries.remove(this.#storage.tenant, RECORD_KIND, name)
  }

  async removePins(name: string): Promise<void> {
    const { entries, tenant } = this.#storage
    const { pins } = await this.refresh()
    for (const tool of pins.get(name)?.keys() ?? [])
      await entries.remove(tenant, PIN_KIND, pinName(name, tool))
    await this.refresh()
  }

  /** The pins of one upstream by the name of the tool. */
  pinsOf(upstream: string): ReadonlyMap<string, Pin> {
    const stored = this.now.pins.get(upstream)
    return new Map([...(stored ?? [])].map(([tool, { pin }]) => [tool, pin]))
  }

  /** Stores the definitions that an upstream lists. Resolves when they are durable. */
  see({ name: upstream, pinned }: UpstreamRecord, list: readonly ReadDefinition[]): Promise<true> {
    return swapped(async () => {
      const stored = (await this.refresh()).pins.get(upstream)
      const isFirstList = stored === undefined
      let isLost = false
      let isWritten = false
      for (const read of list) {
        if ('unfit' in read) continue
        const { definition, hash } = read
        const before = stored?.get(definition.name)
        const after = sightOf({ upstream, definition, hash }, before?.pin, pinned, isFirstList, Date.now())
        if (after === before?.pin) continue
        isWritten = true
        if (!(await this.#putPin(after, before?.version ?? 0))) isLost = true
      }
      if (isWritten) await this.refresh()
      return isLost ? undefined : true
    })
  }

  /** Accepts the offered definition, if it is the one with this hash. */
  accept(upstream: string, tool: string, hash: string, by: PrincipalKey): Promise<true> {
    return swapped(async () => {
      const stored = (await this.refresh()).pins.get(upstream)?.get(tool)
      if (stored === undefined) throw new Fault('UPSTREAM_TOOL_NOT_FOUND', { upstream, tool })
      const after = acceptance(stored.pin, hash, by, Date.now())
      if (after === undefined)
        throw invalid('hash', 'is not that of the definition offered now; get_upstream shows it')
      if (after === stored.pin) return true
      if (!(await this.#putPin(after, stored.version))) return undefined
      await this.refresh()
      return true
    })
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }

  async #read(before: Registry | undefined): Promise<Registry> {
    // Keeps the cached copy from being evicted.
    this.#copies.known(this.#storage.tenant)
    const [recordEntries, pinEntries] = [await this.#all(RECORD_KIND), await this.#all(PIN_KIND)]
    const version = versionOf([...recordEntries, ...pinEntries])
    if (version === before?.version) return before
    const records = new Map<string, StoredRecord & { version: number }>()
    for (const entry of recordEntries) {
      const { record, ...rest }: StoredRecord = JSON.parse(entry.value)
      // Records of an earlier version get the defaults of this one.
      const known = addUpstreamInput.safeParse(record)
      if (known.success) records.set(entry.name, { ...rest, record: known.data, version: entry.version })
    }
    const pins = new Map<string, Map<string, StoredPin>>()
    for (const entry of pinEntries) {
      const kept = pinOf(entry)
      const ofUpstream = pins.get(kept.pin.upstream) ?? new Map<string, StoredPin>()
      pins.set(kept.pin.upstream, ofUpstream.set(kept.pin.tool, kept))
    }
    return { version, records, pins }
  }

  async #all(kind: string): Promise<Entry[]> {
    const { entries, tenant } = this.#storage
    const found: Entry[] = []
    for (;;) {
      const page = await entries.list(tenant, kind, found.at(-1)?.name ?? '', PAGE)
      found.push(...page)
      if (page.length < PAGE) return found
    }
  }
}

function versionOf(entries: readonly Entry[]): string {
  const hash = createHash('sha256')
  for (const { kind, name, version, value } of entries) hash.update(`${kind} ${name} ${version} ${value}\n`)
  return hash.digest('hex')
}

/** The limit for compare-and-swap attempts that lose against another writer. */
const MAX_TRIES = 20

/** Repeats a compare-and-swap until it resolves with a value. */
export async function swapped<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const result = await attempt()
    if (result !== undefined) return result
  }
  throw new Fault('OVERLOADED')
}
