import { Fault, invalid } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { CheckPayload, CompileSchema } from './task-types-schema.ts'
import type { TaskTypeView } from './task-types-shape.ts'

/** What creators are told besides the task: how long the work takes, and when to look. */
export interface Guidance {
  readonly estimated_runtime_seconds?: number
  readonly poll_suggestion_seconds?: number
}

/** What a registered type means for the tasks that are created. */
export class TaskTypeRule {
  readonly view: TaskTypeView
  readonly guidance: Guidance
  /** What it was made from; the same text is the same rule. */
  readonly text: string
  readonly #compile: CompileSchema | undefined
  #check: CheckPayload | undefined

  constructor(text: string, view: TaskTypeView, compile: CompileSchema | undefined) {
    const { estimated_runtime_seconds, poll_suggestion_seconds } = view
    this.text = text
    this.view = view
    this.guidance = {
      ...(estimated_runtime_seconds !== null && { estimated_runtime_seconds }),
      ...(poll_suggestion_seconds !== null && { poll_suggestion_seconds }),
    }
    this.#compile = compile
  }

  /** Why a task with this payload is not taken; undefined if it is. `bytes` is called only if a limit asks for it. */
  refusal(payload: Json | undefined, bytes: () => number): Fault | undefined {
    const { type, enabled, max_payload_bytes } = this.view
    if (!enabled) return new Fault('TASK_TYPE_DISABLED', { type })
    if (max_payload_bytes !== null && bytes() > max_payload_bytes) {
      return new Fault('PAYLOAD_TOO_LARGE', { path: 'payload', limit_bytes: max_payload_bytes })
    }
    if (payload === undefined) return undefined
    const problem = this.#checker()?.(payload)
    return problem && invalid(problem.path, problem.problem)
  }

  #checker(): CheckPayload | undefined {
    const { payload_schema } = this.view
    if (payload_schema !== null) this.#check ??= this.#compile?.(payload_schema)
    return this.#check
  }
}
