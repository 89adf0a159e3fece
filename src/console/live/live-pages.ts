import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { EventStreams } from '../../http/event-stream.ts'
import type { Page } from '../visit.ts'
import {
  changesBetween,
  changesSince,
  type Region,
  type RegionChange,
  type RegionVersion,
} from './regions.ts'

/** What a page shows now. */
export interface Rendered {
  readonly title: string
  readonly icon: string
  readonly regions: readonly Region[]
  readonly follows: Page['follows']
  readonly poll: Page['poll']
}

interface Deps {
  /** Renders the page at a path. Undefined if it no longer exists for this caller. */
  render(caller: Caller, path: string): Promise<Rendered | undefined>
  /** Calls back for each change of a task that the caller may see. Resolves with an unsubscribe function. */
  follow(caller: Caller, listener: (change: { readonly task_id: string }) => void): Promise<() => void>
  report(error: unknown): void
}

/** An open page of one person. */
interface Reader {
  readonly stream: { push(text: string): void }
  /** Replaces the placeholder of the form token. */
  personalize(text: string): string
  /** The versions that the page had when it connected; undefined once it shows what the view has sent. */
  known: ReadonlyMap<string, string> | undefined
}

/** A page that is shown to callers who see the same: it is rendered once for all of them. */
interface View {
  readonly caller: Caller
  readonly path: string
  readonly readers: Set<Reader>
  feed: Feed | undefined
  follows: Page['follows']
  poll: number | undefined
  isChanged: boolean
  /** Whether a reader has connected since it was last rendered. */
  isAwaited: boolean
  /** When it was last rendered. */
  renderedAt: number
  shown: ReadonlyMap<string, RegionVersion>
}

/** The changes of tasks that some callers see. Each change costs the same however many pages are open. */
interface Feed {
  readonly lists: Set<View>
  readonly tasks: Map<string, Set<View>>
  isChanged: boolean
  unsubscribe: () => void
}

/** Minimum interval between two updates of a page. */
const PACE_MS = 1000
/** Changes within this time are sent together. */
const GATHER_MS = 150
const MAX_PER_PERSON = 30
const MAX_STREAMS = 5000

export interface Opening {
  readonly caller: Caller
  readonly path: string
  readonly known: ReadonlyMap<string, string>
  personalize(text: string): string
}

/**
 * Sends open pages what has changed in them. Pages with the same content are rendered once, one view at a time and with
 * pauses, so that the work is bounded however many pages are open: with more of them, each is updated less often.
 */
export class LivePages {
  readonly #deps: Deps
  readonly #streams = new EventStreams()
  readonly #views = new Map<string, View>()
  readonly #feeds = new Map<string, Feed>()
  readonly #perPerson = new Map<string, number>()
  #stopped = new AbortController()
  #working: Promise<void> | undefined
  #wake: (() => void) | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  stop(): void {
    this.#stopped.abort()
    this.#streams.stop()
    for (const feed of this.#feeds.values()) feed.unsubscribe()
  }

  /** Streams the changes of a page to one reader. */
  async open(response: ServerResponse, { caller, path, known, personalize }: Opening): Promise<void> {
    const person = `${caller.tenant} ${principalKey(caller.principal)}`
    const open = this.#perPerson.get(person) ?? 0
    if (open >= MAX_PER_PERSON || this.#streams.count >= MAX_STREAMS) {
      throw new Fault(
        'RATE_LIMIT_EXCEEDED',
        {},
        `Limit of ${MAX_PER_PERSON} open pages reached. Close some of them.`,
      )
    }
    this.#perPerson.set(person, open + 1)
    response.once('close', () => {
      const rest = (this.#perPerson.get(person) ?? 1) - 1
      if (rest > 0) this.#perPerson.set(person, rest)
      else this.#perPerson.delete(person)
    })
    await this.#streams.serve(response, ': live\n\n', async (stream) => {
      const reader = { stream, personalize, known }
      const view = this.#view(caller, path)
      view.readers.add(reader)
      view.isChanged = true
      view.isAwaited = true
      this.#work()
      return () => this.#leave(view, reader)
    })
  }

  #view(caller: Caller, path: string): View {
    const key = `${audienceOf(caller)} ${path}`
    const known = this.#views.get(key)
    if (known !== undefined) return known
    const view: View = {
      ...{ caller, path, readers: new Set<Reader>(), feed: undefined, follows: undefined, poll: undefined },
      ...{ isChanged: true, isAwaited: true, renderedAt: 0, shown: new Map() },
    }
    this.#views.set(key, view)
    return view
  }

  #leave(view: View, reader: Reader): void {
    view.readers.delete(reader)
    if (view.readers.size > 0) return
    this.#views.delete(`${audienceOf(view.caller)} ${view.path}`)
    this.#unfollow(view)
  }

  async #follow(view: View): Promise<void> {
    const { follows } = view
    if (follows === undefined) return
    const audience = audienceOf(view.caller)
    let feed = this.#feeds.get(audience)
    if (feed === undefined) {
      const created: Feed = { lists: new Set(), tasks: new Map(), isChanged: false, unsubscribe: () => {} }
      feed = created
      this.#feeds.set(audience, created)
      try {
        const changed = ({ task_id }: { readonly task_id: string }) => this.#changed(created, task_id)
        created.unsubscribe = await this.#deps.follow(view.caller, changed)
      } catch (error) {
        this.#feeds.delete(audience)
        throw error
      }
    }
    view.feed = feed
    if (follows === 'tasks') feed.lists.add(view)
    else {
      const views = feed.tasks.get(follows.task_id) ?? new Set()
      feed.tasks.set(follows.task_id, views.add(view))
    }
  }

  #unfollow(view: View): void {
    const { feed, follows } = view
    if (feed === undefined || follows === undefined) return
    view.feed = undefined
    feed.lists.delete(view)
    if (follows !== 'tasks') {
      const views = feed.tasks.get(follows.task_id)
      views?.delete(view)
      if (views?.size === 0) feed.tasks.delete(follows.task_id)
    }
    if (feed.lists.size > 0 || feed.tasks.size > 0) return
    feed.unsubscribe()
    this.#feeds.delete(audienceOf(view.caller))
  }

  #changed(feed: Feed, taskId: string): void {
    const views = feed.tasks.get(taskId)
    if (views !== undefined) for (const view of views) view.isChanged = true
    if (feed.lists.size > 0) feed.isChanged = true
    if (views !== undefined || feed.lists.size > 0) this.#work()
  }

  #work(): void {
    this.#wake?.()
    this.#working ??= this.#run().finally(() => {
      this.#working = undefined
    })
  }

  /** Renders changed views, one at a time, until there are no more. */
  async #run(): Promise<void> {
    const { signal } = this.#stopped
    await this.#pause(GATHER_MS)
    while (!signal.aborted) {
      const next = this.#next()
      if (next === undefined) return
      const wait = next.due - Date.now()
      if (wait > 0) {
        await this.#pause(wait)
        continue
      }
      const before = performance.now()
      await this.#update(next.view)
      await delay(performance.now() - before)
    }
  }

  /** Ends early if something changes. */
  async #pause(ms: number): Promise<void> {
    const woken = new AbortController()
    const signal = AbortSignal.any([woken.signal, this.#stopped.signal])
    const gathering = Date.now() + GATHER_MS
    this.#wake = () => {
      if (Date.now() >= gathering) woken.abort()
    }
    await delay(ms, undefined, { signal, ref: false }).catch(() => {})
    this.#wake = undefined
  }

  /** The view that is due first. Views that are not changed and do not poll are never due. */
  #next(): { readonly view: View; readonly due: number } | undefined {
    for (const feed of this.#feeds.values()) {
      if (!feed.isChanged) continue
      feed.isChanged = false
      for (const view of feed.lists) view.isChanged = true
    }
    let first: { view: View; due: number } | undefined
    for (const view of this.#views.values()) {
      const due = dueAt(view)
      if (due !== undefined && (first === undefined || due < first.due)) first = { view, due }
    }
    return first
  }

  async #update(view: View): Promise<void> {
    view.isChanged = false
    view.isAwaited = false
    view.renderedAt = Date.now()
    try {
      const readers = [...view.readers]
      const rendered = await this.#deps.render(view.caller, view.path)
      if (rendered === undefined) {
        for (const { stream } of readers) stream.push('event: gone\ndata: {}\n\n')
        return
      }
      this.#send(view, readers, rendered)
      view.poll = rendered.poll
      if (view.readers.size === 0 || JSON.stringify(view.follows) === JSON.stringify(rendered.follows)) return
      this.#unfollow(view)
      view.follows = rendered.follows
      await this.#follow(view)
      if (view.readers.size === 0) this.#unfollow(view)
      // A change between the rendering and the subscription has not been seen.
      view.isChanged = true
    } catch (error) {
      if (!(error instanceof Fault)) this.#deps.report(error)
    }
  }

  #send(view: View, readers: readonly Reader[], { title, icon, regions }: Rendered): void {
    const message = (changes: readonly RegionChange[]) =>
      changes.length === 0 ? '' : `event: patch\ndata: ${JSON.stringify({ title, icon, changes })}\n\n`
    const update = message(changesBetween(view.shown, regions))
    for (const reader of readers) {
      const { known, stream } = reader
      const text = known === undefined ? update : message(changesSince(known, regions))
      reader.known = undefined
      if (text !== '') stream.push(reader.personalize(text))
    }
    view.shown = new Map(regions.map(({ name, version, frame, rows }) => [name, { version, frame, rows }]))
  }
}

function dueAt({ isChanged, isAwaited, renderedAt, poll }: View): number | undefined {
  if (isChanged) return renderedAt + (isAwaited ? GATHER_MS : PACE_MS)
  return poll === undefined ? undefined : renderedAt + poll * 1000
}

/** Callers with the same audience see the same pages, except for the token of their forms. */
function audienceOf({ tenant, role, scopes, principal }: Caller): string {
  return JSON.stringify([tenant, role, scopes ?? null, seesAll(role) ? null : principalKey(principal)])
}
