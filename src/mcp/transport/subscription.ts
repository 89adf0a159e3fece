import {
  SERVER_INFO_META_KEY,
  type ServerCapabilities,
  type ServerEvent,
  type ServerEventBus,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Caller } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isOwnUri, taskOfUri } from '../reads/own-reads.ts'
import type { ServerDefinition } from '../server.ts'
import { viewerOf } from '../tasks/client-questions.ts'
import { withResolvedResult } from '../tasks/results.ts'
import { taskCaller } from '../tools/identity.ts'
import { asFault, type Call } from '../tools/tool.ts'
import type { RequestId } from './wire.ts'

/** Further tasks of a subscription are ignored. */
export const MAX_TASK_IDS = 256

/** How often tasks are read that another process may change. */
const LOOK_EVERY_MS = 2_000

export interface Sink {
  /** Resolves when the reader accepts more, with whether it accepted this immediately. */
  send(message: object): Promise<boolean>
}

export interface Listening {
  readonly id: RequestId
  /** The requested filter. */
  readonly notifications: Fields
  readonly taskIds: readonly string[]
  /** Resources to be notified about. */
  readonly uris?: readonly string[]
}

export interface SubscriptionOptions {
  readonly definition: ServerDefinition
  readonly bus: ServerEventBus
  readonly sink: Sink
  readonly call: Call
}

/**
 * A stream of changes of tasks, and possibly of lists. It sends the current state of each task and then its changes; a
 * slow reader gets the latest state only.
 */
export class Subscription {
  readonly #asked: Listening
  readonly #options: SubscriptionOptions
  readonly #caller: Caller
  /** Tasks that may have changed. */
  readonly #stale = new Set<string>()
  /** Pending notifications of lists, by their JSON. */
  readonly #lists = new Map<string, object>()
  /** The last state that was sent of each open task. */
  readonly #sent = new Map<string, string>()
  /** The resources of each open task, and the state that the last notification was about. */
  readonly #resources = new Map<string, { readonly uris: readonly string[]; seen: string }>()
  readonly #stops: (() => void)[] = []
  #wake = () => {}
  #isOver = false

  constructor(asked: Listening, options: SubscriptionOptions) {
    this.#asked = asked
    this.#options = options
    this.#caller = taskCaller(options.call)
  }

  /** Resolves when all tasks have ended and no list is watched, or when the signal is aborted. */
  async run(): Promise<void> {
    const { signal } = this.#options.call
    const end = () => this.#end()
    signal.addEventListener('abort', end)
    if (signal.aborted) this.#end()
    try {
      const lists = await this.#open()
      if (!this.#isOver) await this.#pump(Object.keys(lists).length > 0)
    } finally {
      signal.removeEventListener('abort', end)
      for (const stop of this.#stops) stop()
    }
    await this.#send({ id: this.#asked.id, result: this.#result() })
  }

  /** Sends the acknowledgement. Tasks are watched before they are read, so that no change is missed. */
  async #open(): Promise<ListFilter> {
    const { definition, bus } = this.#options
    const { tasks } = definition
    const asked = [...new Set(this.#asked.taskIds)].slice(0, MAX_TASK_IDS)
    const { tenant } = this.#caller
    const uris = urisByTask(this.#asked.uris ?? [])
    const watched = [...new Set([...asked, ...uris.keys()])]
    for (const id of watched) this.#stops.push(await tasks.watch.watch(tenant, id, () => this.#changed(id)))
    const views = await tasks.gate.peekTasks(this.#caller, { task_ids: watched })
    const isVisible = (id: string) => views.some(({ task_id }) => task_id === id)
    const taskIds = asked.filter(isVisible)
    for (const view of views) {
      const own = uris.get(view.task_id)
      if (own !== undefined) this.#resources.set(view.task_id, { uris: own, seen: this.#stateOf(view) })
    }
    const lists = honouredLists(this.#asked.notifications, definition.capabilities('modern', tenant))
    const watch = lists.toolsListChanged && definition.watchLists?.(tenant)
    if (watch) this.#stops.push(watch.stop)
    await watch?.loaded
    const stop = bus.subscribe((event) => {
      const notification = listNotification(event, lists)
      if (notification === undefined) return
      this.#lists.set(JSON.stringify(notification), notification)
      this.#wake()
    })
    this.#stops.push(stop)
    await this.#notify('notifications/subscriptions/acknowledged', {
      notifications: {
        ...lists,
        ...(uris.size > 0 && { resourceSubscriptions: this.#honouredUris(lists) }),
        ...((asked.length > 0 || 'taskIds' in this.#asked.notifications) && { taskIds }),
      },
    })
    for (const id of taskIds) {
      this.#sent.set(id, '')
      this.#stale.add(id)
    }
    return lists
  }

  /** A resource of a task that the caller may not read is not honoured. */
  #honouredUris({ resourceSubscriptions = [] }: ListFilter): readonly string[] {
    const own = [...this.#resources.values()].flatMap(({ uris }) => uris)
    return [...resourceSubscriptions.filter((uri) => !isOwnUri(uri)), ...own]
  }

  async #pump(hasLists: boolean): Promise<void> {
    const { gate } = this.#options.definition.tasks
    if (gate.isShared) {
      const look = setInterval(
        () => this.#changed(...this.#sent.keys(), ...this.#resources.keys()),
        LOOK_EVERY_MS,
      ).unref()
      this.#stops.push(() => clearInterval(look))
    }
    while (!this.#isOver && (hasLists || this.#sent.size > 0 || this.#resources.size > 0)) {
      if (this.#stale.size === 0 && this.#lists.size === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
      await this.#tellLists()
      await this.#tellTasks()
    }
  }

  async #tellLists(): Promise<void> {
    for (const [key, notification] of this.#lists) {
      this.#lists.delete(key)
      await this.#send(stamped(notification, this.#asked.id))
    }
  }

  async #tellTasks(): Promise<void> {
    const ids = [...this.#stale].filter((id) => this.#sent.has(id) || this.#resources.has(id))
    this.#stale.clear()
    if (ids.length === 0 || this.#isOver) return
    const views = await this.#look(ids)
    for (const [index, view] of views.entries()) {
      if (await this.#tell(view)) continue
      // The reader was slow, so the remaining tasks are read again.
      this.#changed(...views.slice(index + 1).map(({ task_id }) => task_id))
      return
    }
  }

  async #look(ids: readonly string[]): Promise<readonly TaskView[]> {
    const { tasks } = this.#options.definition
    try {
      return await tasks.gate.peekTasks(this.#caller, { task_ids: ids })
    } catch (error) {
      asFault(error, tasks.onError)
      // The database may be unavailable.
      const again = setTimeout(() => this.#changed(...ids), LOOK_EVERY_MS).unref()
      this.#stops.push(() => clearTimeout(again))
      return []
    }
  }

  /** Resolves with whether the reader accepts more immediately. */
  async #tell(view: TaskView): Promise<boolean> {
    const isReady = await this.#tellResources(view)
    return (await this.#tellTask(view)) && isReady
  }

  async #tellResources(view: TaskView): Promise<boolean> {
    const resource = this.#resources.get(view.task_id)
    if (resource === undefined) return true
    const state = this.#stateOf(view)
    const isNews = resource.seen !== state
    resource.seen = state
    if (isTerminal(view.status)) this.#resources.delete(view.task_id)
    let isReady = true
    for (const uri of isNews ? resource.uris : []) {
      isReady = (await this.#notify('notifications/resources/updated', { uri })) && isReady
    }
    return isReady
  }

  /** What a resource shows, without heartbeats of the worker. */
  #stateOf({ updated_at: _, lease, ...view }: TaskView): string {
    return JSON.stringify({ ...view, lease: lease?.worker_id })
  }

  async #tellTask(view: TaskView): Promise<boolean> {
    if (!this.#sent.has(view.task_id)) return true
    const { call, definition } = this.#options
    const { tasks } = definition
    const whole = await withResolvedResult(tasks.gate, this.#caller, view)
    const viewer = whole.question === null ? undefined : viewerOf(call, this.#caller)
    const task = tasks.states.detailed(whole, viewer, call)
    // The poll interval and heartbeats of the worker are no changes.
    const news = JSON.stringify({ ...task, pollIntervalMs: 0, lastUpdatedAt: '' })
    const isNews = this.#sent.get(view.task_id) !== news
    if (isTerminal(view.status)) this.#sent.delete(view.task_id)
    else this.#sent.set(view.task_id, news)
    return isNews ? this.#notify('notifications/tasks', task) : true
  }

  #changed(...ids: readonly string[]): void {
    for (const id of ids) this.#stale.add(id)
    this.#wake()
  }

  #end(): void {
    this.#isOver = true
    this.#wake()
  }

  #notify(method: string, params: object): Promise<boolean> {
    return this.#send(stamped({ method, params }, this.#asked.id))
  }

  #send(message: object): Promise<boolean> {
    return this.#options.sink.send({ jsonrpc: '2.0', ...message })
  }

  #result(): object {
    const { info } = this.#options.definition
    const _meta = { [SUBSCRIPTION_ID_META_KEY]: this.#asked.id, [SERVER_INFO_META_KEY]: info }
    return { resultType: 'complete', _meta }
  }
}

function stamped(
  notification: { readonly method?: string; readonly params?: object },
  id: RequestId,
): object {
  const { method, params } = notification
  return { method, params: { ...params, _meta: { [SUBSCRIPTION_ID_META_KEY]: id } } }
}

/** The resources of tasks among the URIs, by task. */
function urisByTask(uris: readonly string[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const uri of [...new Set(uris)].slice(0, MAX_TASK_IDS)) {
    const id = taskOfUri(uri)
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), uri])
  }
  return found
}

/** The changes of lists that a subscription covers. */
export interface ListFilter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/** The part of a filter that the capabilities support. */
export function honouredLists(asked: Fields, { tools, prompts, resources }: ServerCapabilities): ListFilter {
  const uris = Array.isArray(asked.resourceSubscriptions) ? asked.resourceSubscriptions : []
  return {
    ...(asked.toolsListChanged === true && tools?.listChanged && { toolsListChanged: true }),
    ...(asked.promptsListChanged === true && prompts?.listChanged && { promptsListChanged: true }),
    ...(asked.resourcesListChanged === true && resources?.listChanged && { resourcesListChanged: true }),
    ...(uris.length > 0 && resources?.subscribe && { resourceSubscriptions: uris }),
  }
}

interface Notification {
  readonly method: string
  readonly params: Fields
}

/** The notification of a change; undefined if the filter excludes it. */
export function listNotification(event: ServerEvent, wanted: ListFilter): Notification | undefined {
  const changed = (what: string, isWanted: true | undefined) =>
    isWanted && { method: `notifications/${what}/list_changed`, params: {} }
  switch (event.kind) {
    case 'tools_list_changed':
      return changed('tools', wanted.toolsListChanged)
    case 'prompts_list_changed':
      return changed('prompts', wanted.promptsListChanged)
    case 'resources_list_changed':
      return changed('resources', wanted.resourcesListChanged)
    case 'resource_updated': {
      const isWanted = wanted.resourceSubscriptions?.includes(event.uri) ?? false
      return isWanted ? { method: 'notifications/resources/updated', params: { uri: event.uri } } : undefined
    }
  }
}
