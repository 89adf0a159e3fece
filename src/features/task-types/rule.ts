import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import type { Schemas } from './schemas.ts'
import type { TaskTypeView } from './shape.ts'

/** What creators are told besides the task: how long the work takes, and when to look. */
export interface Guidance {
  readonly estimated_runtime_seconds?: number
  readonly poll_suggestion_seconds?: number
}

/** A payload that somebody wants to give to a task. */
export interface GivenPayload {
  readonly value: Json
  readonly text: CanonicalJson
  /** The request that it is a part of, if that creates many tasks. */
  readonly request?: object | undefined
}

/** What a registered type means for the tasks that are created. */
export class TaskTypeRule {
  readonly view: TaskTypeView
  readonly guidance: Guidance
  /** What it was made from; the same text is the same rule. */
  readonly text: string
  readonly #schema: CanonicalJson | undefined

  constructor(text: string, view: TaskTypeView) {
    const { estimated_runtime_seconds, poll_suggestion_seconds, payload_schema } = view
    this.text = text
    this.view = view
    this.guidance = {
      ...(estimated_runtime_seconds !== null && { estimated_runtime_seconds }),
      ...(poll_suggestion_seconds !== null && { poll_suggestion_seconds }),
    }
    this.#schema = payload_schema === null ? undefined : canonical(payload_schema)
  }

  /** Why a task with this payload is not taken; undefined if it is. A payload that is elsewhere is undefined. */
  async refusal(schemas: Schemas, payload: GivenPayload | undefined): Promise<Fault | undefined> {
    const { type, enabled, max_payload_bytes } = this.view
    if (!enabled) return new Fault('TASK_TYPE_DISABLED', { type })
    if (payload === undefined) return undefined
    if (max_payload_bytes !== null && Buffer.byteLength(payload.text) > max_payload_bytes) {
      return new Fault('PAYLOAD_TOO_LARGE', { path: 'payload', limit_bytes: max_payload_bytes })
    }
    if (this.#schema === undefined) return undefined
    return schemas.payloadFault(this.#schema, { ...payload, name: 'payload' })
  }
}
