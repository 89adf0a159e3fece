import { hash } from 'node:crypto'
import { invalid } from '../../core/errors.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Entry, EntryDraft } from '../../store/entries.ts'
import { type PublishedType, typesText } from '../task-types/published-types.ts'
import { FORGET_AFTER_MS, recordOf, WORKER_KIND } from './writer.ts'

const PUBLICATION_KIND = 'worker_types'
const SET_KIND = 'type_set'

/** Limits per tenant. All published types of a tenant are in memory. */
const MAX_PUBLISHERS = 2000
const MAX_TYPES = 1000
/** The types of all workers, counted once for each worker: it bounds the cost of a change. */
const MAX_PUBLISHED = 20_000
const MAX_SETS = 500
const MAX_CHARACTERS = 8 * 1024 * 1024

const PAGE = 500

/** How long a set that no worker publishes is stored. A worker may be about to refer to it. */
const KEEP_SET_MS = 3600_000
const SWEEP_AT_ONCE = 1000

export interface Publisher {
  readonly tenant: number
  readonly worker_id: string
  readonly holder: PrincipalKey
}

/** The types that a worker publishes. Workers with the same types refer to the same set. */
export interface Publication {
  readonly worker_id: string
  readonly holder: PrincipalKey
  /** The digest of the set. */
  readonly set: string
  /** When the worker began to publish this set. */
  readonly at: number
  /** When it began to publish each type. */
  readonly since: readonly (readonly [type: string, at: number])[]
}

interface TypeSet {
  readonly types: readonly PublishedType[]
  readonly characters: number
}

/** The publications of a tenant, by the name of their entry, and the sets that they refer to. */
export interface PublicationTable {
  readonly publications: ReadonlyMap<string, Publication>
  readonly sets: ReadonlyMap<string, TypeSet>
  /** The versions of the entries: equal texts mean equal tables. */
  readonly text: string
}

/**
 * What workers publish about their task types. A set of types is stored once, by its digest, however many workers publish
 * it, and each worker has a small entry that refers to its set. A publication belongs to the worker and its principal, so
 * that no other principal can replace it by using the name of the worker.
 */
export class Publications {
  readonly #engine: Engine
  readonly #listeners: ((tenant: number) => Promise<unknown>)[] = []

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** The listener is awaited after each change that this process makes. */
  onChange(listener: (tenant: number) => Promise<unknown>): void {
    this.#listeners.push(listener)
  }

  /** Sets never change, so only unknown ones are read. */
  async read(tenant: number, before: PublicationTable | undefined): Promise<PublicationTable> {
    const entries = await this.#all(tenant)
    const text = entries.map(({ name, version }) => `${name} ${version}`).join('\n')
    if (before?.text === text) return before
    const publications = new Map(entries.map(({ name, value }) => [name, publicationOf(value)]))
    const wanted = new Set([...publications.values()].map(({ set }) => set))
    const unknown = [...wanted].filter((digest) => before?.sets.has(digest) !== true)
    const read = await this.#sets(tenant, unknown)
    const sets = new Map<string, TypeSet>()
    for (const digest of wanted) {
      const found = before?.sets.get(digest) ?? read.get(digest)
      if (found !== undefined) sets.set(digest, found)
    }
    // A set that was not found is read again next time.
    return { publications, sets, text: sets.size === wanted.size ? text : '' }
  }

  /** Replaces what the worker publishes. Publishing the same again changes nothing. `known` is an earlier table. */
  async publish(
    publisher: Publisher,
    types: readonly PublishedType[],
    known: PublicationTable | undefined,
  ): Promise<void> {
    const { tenant, worker_id, holder } = publisher
    if (types.length === 0) return this.withdraw(tenant, worker_id, holder)
    const text = typesText(types)
    const set = hash('sha256', text)
    const name = nameOf(publisher)
    const table = await this.#engine.reading(() => this.read(tenant, known))
    const before = table.publications.get(name)
    if (before?.set === set && table.sets.has(set)) return
    this.#checkLimits(table, name, set, types, text.length)
    const at = Date.now()
    const earlier = new Map(before?.since)
    const since = types.map(({ type }) => [type, earlier.get(type) ?? at] as const)
    const publication: Publication = { worker_id, holder, set, at, since }
    await this.#checkSets(tenant, table, set)
    await this.#engine.writing(async (entries) => {
      await entries.put({ tenant, kind: SET_KIND, name: set, value: text, due_at: at + KEEP_SET_MS })
      await entries.put(entryOf(tenant, name, publication, at))
    })
    await this.#changed(tenant)
  }

  /** Removes what a worker publishes: as one principal, or as any. */
  async withdraw(tenant: number, worker_id: string, holder?: PrincipalKey): Promise<void> {
    const names =
      holder === undefined
        ? (await this.#engine.reading(() => this.#all(tenant)))
            .filter(({ value }) => publicationOf(value).worker_id === worker_id)
            .map(({ name }) => name)
        : [nameOf({ worker_id, holder })]
    let removed = false
    for (const name of names) {
      const existed = await this.#engine.writing((entries) => entries.remove(tenant, PUBLICATION_KIND, name))
      removed ||= existed
    }
    if (removed) await this.#changed(tenant)
  }

  /** Removes the publications of workers that were not seen for a day, and sets that are no longer published. */
  async sweep(tenant: number, now: number): Promise<void> {
    const removed = await this.#sweepPublications(tenant, now)
    await this.#sweepSets(tenant, now)
    if (removed) await this.#changed(tenant)
  }

  async #sweepPublications(tenant: number, now: number): Promise<boolean> {
    const { entries } = this.#engine.store
    const due = await entries.due(tenant, PUBLICATION_KIND, now, SWEEP_AT_ONCE)
    if (due.length === 0) return false
    const ids = [...new Set(due.map(({ value }) => publicationOf(value).worker_id))]
    const workers = await entries.several(tenant, WORKER_KIND, ids)
    const seen = new Map(workers.map(({ name, value }) => [name, recordOf(value).last_seen_at]))
    let removed = false
    for (const { name, value, version } of due) {
      const publication = publicationOf(value)
      const last = seen.get(publication.worker_id) ?? 0
      if (last + FORGET_AFTER_MS > now) await entries.put(entryOf(tenant, name, publication, last), version)
      else removed = (await entries.remove(tenant, PUBLICATION_KIND, name)) || removed
    }
    return removed
  }

  async #sweepSets(tenant: number, now: number): Promise<void> {
    const { entries } = this.#engine.store
    const due = await entries.due(tenant, SET_KIND, now, MAX_SETS)
    if (due.length === 0) return
    const used = new Set((await this.#all(tenant)).map(({ value }) => publicationOf(value).set))
    for (const { version, ...entry } of due) {
      if (used.has(entry.name)) await entries.put({ ...entry, due_at: now + KEEP_SET_MS }, version)
      else await entries.remove(tenant, SET_KIND, entry.name)
    }
  }

  #checkLimits(
    { publications, sets }: PublicationTable,
    name: string,
    digest: string,
    types: readonly PublishedType[],
    characters: number,
  ): void {
    const others = [...publications].filter(([other]) => other !== name).map(([, publication]) => publication)
    if (others.length >= MAX_PUBLISHERS) throw limit(`${MAX_PUBLISHERS} publishing workers`)
    const published = others.reduce((sum, { since }) => sum + since.length, types.length)
    if (published > MAX_PUBLISHED) throw limit(`${MAX_PUBLISHED} task types of all workers`)
    const used = new Set(others.map(({ set }) => set))
    const stored = [...sets].filter(([set]) => used.has(set) && set !== digest).map(([, set]) => set)
    const names = new Set(types.map(({ type }) => type))
    for (const set of stored) for (const { type } of set.types) names.add(type)
    if (names.size > MAX_TYPES) throw limit(`${MAX_TYPES} published task types`)
    const total = stored.reduce((sum, set) => sum + set.characters, characters)
    if (total > MAX_CHARACTERS) throw limit(`${MAX_CHARACTERS} characters of published task types`)
  }

  /** Also counts sets that are no longer published, which the next sweeps remove. */
  async #checkSets(tenant: number, { sets }: PublicationTable, digest: string): Promise<void> {
    if (sets.has(digest)) return
    const { entries } = this.#engine.store
    const count = await this.#engine.reading(() => entries.count(tenant, SET_KIND, MAX_SETS))
    if (count >= MAX_SETS) throw limit(`${MAX_SETS} different sets of task types`)
  }

  async #all(tenant: number): Promise<Entry[]> {
    const found: Entry[] = []
    for (;;) {
      const after = found.at(-1)?.name ?? ''
      const page = await this.#engine.store.entries.list(tenant, PUBLICATION_KIND, after, PAGE)
      found.push(...page)
      if (page.length < PAGE) return found
    }
  }

  async #sets(tenant: number, digests: readonly string[]): Promise<ReadonlyMap<string, TypeSet>> {
    if (digests.length === 0) return new Map()
    const entries = await this.#engine.store.entries.several(tenant, SET_KIND, digests)
    return new Map(
      entries.map(({ name, value }) => [name, { types: JSON.parse(value), characters: value.length }]),
    )
  }

  async #changed(tenant: number): Promise<void> {
    for (const listener of this.#listeners) await listener(tenant)
  }
}

function nameOf({ worker_id, holder }: Pick<Publisher, 'worker_id' | 'holder'>): string {
  return hash('sha256', `${holder}\n${worker_id}`)
}

function entryOf(tenant: number, name: string, publication: Publication, seen: number): EntryDraft {
  const value = JSON.stringify(publication)
  return { tenant, kind: PUBLICATION_KIND, name, value, due_at: seen + FORGET_AFTER_MS }
}

function publicationOf(value: string): Publication {
  return JSON.parse(value)
}

function limit(what: string) {
  return invalid('task_types', `cannot be published: limit of ${what} reached`)
}
