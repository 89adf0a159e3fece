import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import type { Schemas } from './schemas.ts'
import type { TaskTypeView } from './shape.ts'
import { type TypeOptions, withFallback } from './type-options.ts'

/** What create_task returns about the type: the usual run time, and when to check the status. */
interface Guidance {
  readonly estimated_runtime_seconds?: number
  readonly poll_suggestion_seconds?: number
}

/** The payload of a requested task. */
export interface GivenPayload {
  readonly value: Json
  readonly text: CanonicalJson
  /** The request that it belongs to, if that request creates many tasks. */
  readonly request?: object | undefined
}

/** The id of a worker that publishes the type, and the digest of the schemas that it publishes. */
type PublishedVariant = readonly [worker_id: string, schemas: string]

/** A registered or published type, as it applies to the creation of tasks. */
export class TaskTypeRule {
  readonly view: TaskTypeView
  readonly publishedBy: 'registered' | 'worker'
  /** The workers that publish the type, the newest first. Empty for a registered type. */
  readonly publishers: readonly PublishedVariant[]
  readonly guidance: Guidance
  /** Those of the type, and where an admin has set none, those that workers publish. */
  readonly options: TypeOptions
  /** The source text: the same text needs no new rule. */
  readonly text: string
  readonly #schema: CanonicalJson | undefined

  constructor(
    text: string,
    view: TaskTypeView,
    publishedBy: 'registered' | 'worker',
    publishers: readonly PublishedVariant[] = [],
    published?: TypeOptions,
  ) {
    const { estimated_runtime_seconds, poll_suggestion_seconds, payload_schema } = view
    this.text = text
    this.view = view
    this.publishedBy = publishedBy
    this.publishers = publishers
    this.options = published === undefined ? view : withFallback(view, published)
    this.guidance = {
      ...(estimated_runtime_seconds !== null && { estimated_runtime_seconds }),
      ...(poll_suggestion_seconds !== null && { poll_suggestion_seconds }),
    }
    this.#schema = payload_schema === null ? undefined : canonical(payload_schema)
  }

  /** Why a task with this payload is refused; undefined if it is accepted. A payload stored elsewhere is undefined. */
  async refusal(schemas: Schemas, payload: GivenPayload | undefined): Promise<Fault | undefined> {
    const { type, enabled, max_payload_bytes } = this.view
    if (!enabled) return new Fault('TASK_TYPE_DISABLED', { type })
    if (payload === undefined) return undefined
    if (max_payload_bytes !== null && Buffer.byteLength(payload.text) > max_payload_bytes) {
      return new Fault('PAYLOAD_TOO_LARGE', { path: 'payload', limit_bytes: max_payload_bytes })
    }
    if (this.#schema === undefined) return undefined
    const author = this.publishedBy === 'registered' ? 'admin' : 'worker'
    return schemas.payloadFault(this.#schema, author, { ...payload, name: 'payload' })
  }
}
