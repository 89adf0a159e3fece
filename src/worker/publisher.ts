import { backoff, pause } from '../client/backoff.ts'
import { GateError, pauseAfter } from '../client/gate-error.ts'
import type { Calls } from './calls.ts'
import type { WorkerLog } from './log.ts'
import type { Settings } from './options.ts'
import { type PublishedType, publishedType } from './publication.ts'

interface Deps {
  readonly calls: Calls
  readonly log: WorkerLog
}

/**
 * Publishes the task types of the worker: when it starts, and again when the connection was lost, because another server may
 * answer then. Publishing the same types again changes nothing at the server. A failure never stops the worker.
 */
export class Publisher {
  readonly #settings: Settings
  readonly #deps: Deps
  readonly #stopping = new AbortController()
  /** What the server has not refused so far. */
  #types: readonly PublishedType[] | undefined
  #running: Promise<void> | undefined
  #again = false

  constructor(settings: Settings, deps: Deps) {
    this.#settings = settings
    this.#deps = deps
  }

  /** Resolves when the types are published or refused. During a publication it is repeated afterwards. */
  async publish(): Promise<void> {
    if (!this.#settings.publish || this.#stopping.signal.aborted) return
    this.#again = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  /** Resolves when no request is pending, so that the worker can be unregistered. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    let failures = 0
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false
      try {
        await this.#send()
        failures = 0
      } catch (error) {
        if (!(error instanceof GateError && error.retryable)) {
          this.#deps.log.warn({ error }, 'the task types are not published')
          return
        }
        this.#again = true
        await pause(pauseAfter(error, backoff(++failures)), this.#stopping.signal).catch(() => {})
      }
    }
  }

  /**
   * Omits what the server refuses twice, one field at a time. A busy server may refuse a schema once because checking it
   * took too long.
   */
  async #send(): Promise<void> {
    let refused: unknown
    for (;;) {
      const types = this.#types ?? this.#convert()
      this.#types = types
      try {
        const { types: accept_types, capabilities, version } = this.#settings
        await this.#deps.calls.register({ accept_types, capabilities, version, task_types: types })
        return
      } catch (error) {
        if (!(error instanceof GateError)) throw error
        const { path } = error.details
        if (path !== undefined && path !== refused) {
          refused = path
          continue
        }
        const less = this.#without(types, error)
        if (less === undefined) throw error
        this.#types = less
        refused = undefined
      }
    }
  }

  #convert(): PublishedType[] {
    const { definitions, tools } = this.#settings
    return [...definitions.values()].map((definition) =>
      publishedType(definition, tools, (omitted) => {
        this.#deps.log.warn(omitted, 'a schema cannot be converted to JSON Schema and is not published')
      }),
    )
  }

  /** The types without the field that the error names; undefined if it names none. */
  #without(types: readonly PublishedType[], error: GateError): PublishedType[] | undefined {
    const [list, index, field] = String(error.details.path ?? '').split('.')
    if (list !== 'task_types') return undefined
    const refused = types[Number(index)]
    if (index === undefined) return this.#withoutSchemas(types, error)
    if (refused === undefined) return undefined
    this.#deps.log.warn(
      { error, type: refused.type, field },
      'the server refused to publish a part of a task type',
    )
    const others = types.filter((type) => type !== refused)
    switch (field) {
      case 'description':
      case 'input_schema':
      case 'output_schema':
      case 'tool':
      case 'options':
        return types.map((type) => (type === refused ? { ...refused, [field]: undefined } : type))
      default:
        return others.length === types.length ? undefined : others
    }
  }

  /** The types are too large, or a limit of the server is reached: the second can only be reported. */
  #withoutSchemas(types: readonly PublishedType[], error: GateError): PublishedType[] | undefined {
    const has = types.some(({ input_schema, output_schema }) => input_schema ?? output_schema)
    if (error.code !== 'PAYLOAD_TOO_LARGE' || !has) return undefined
    this.#deps.log.warn({ error }, 'the schemas of the task types are too large and are not published')
    return types.map(({ type, description, tool, options }) => ({ type, description, tool, options }))
  }
}
