import { type CronOptions, cronOptions } from './cron-options.ts'
import type { TaskSignal } from './errors.ts'
import { type Hooks, hooksOf } from './hooks.ts'
import type { TaskLog } from './log.ts'
import type { Approval, ApprovalRequest, AskRequest } from './questions.ts'
import type { JsonSchema, SchemaInput, SchemaOutput, StandardSchema } from './schema.ts'
import type { TaskInfo } from './task-info.ts'
import { publishedOptions, type TaskPolicy } from './task-policy.ts'
import type { Duration } from './timing.ts'

/** A progress report. `percent` (0 to 100) and `message` are shown to callers that wait for the task. */
export type Progress = {
  readonly percent?: number
  readonly message?: string
} & Readonly<Record<string, unknown>>

export interface ProgressOptions {
  /** The report goes to the inbox of the owner, and later reports do not replace it. */
  readonly milestone?: boolean
}

/** The second argument of a handler. */
export interface TaskContext {
  readonly task: TaskInfo
  /** The number of failed attempts before this one: 0 for the first. */
  readonly attempt: number
  /** Higher than the fence of every earlier lease of the task: external systems should refuse lower ones. */
  readonly fence: number
  /** Aborted when the handler must stop; `signal.reason.kind` says why. Pass it to `fetch` and the like. */
  readonly signal: TaskSignal
  /** Reports progress. It can be called at any rate: only the latest report and every milestone are sent. Never throws. */
  readonly progress: (progress: Progress, options?: ProgressOptions) => void
  /** Writes log lines with the ids of the task. The server stores them with the task, except debug lines. */
  readonly log: TaskLog
  /** Extends the lease to this length from now, and keeps it that long. False if the server does not allow it. */
  readonly extend: (duration: Duration) => Promise<boolean>
  /**
   * Asks the agent that created the task. Without an answer, the run ends here and the task waits as `input_required`. When
   * the answer is there, the handler runs again, and the same question returns the answer. A question that differs from
   * the recorded one is a new question.
   */
  readonly ask: <Schema extends StandardSchema>(request: AskRequest<Schema>) => Promise<SchemaOutput<Schema>>
  /**
   * Asks a person for approval in the same way; the task waits as `pending_approval`. A denial cancels the task, so that
   * this returns only after an approval.
   */
  readonly approval: (request: ApprovalRequest) => Promise<Approval>
  /** The same for every attempt of this task, and different from all other tasks: for idempotent external calls. */
  readonly idempotencyKey: string
}

/** How a task type appears as an MCP tool. Absent fields have the defaults of the server. */
export interface ToolOptions {
  readonly name?: string
  readonly title?: string
  /** What the tool does, written for a model; the description of the task if absent. */
  readonly description?: string
  /** How long a call waits for the result. */
  readonly wait_seconds?: number
}

/** What a worker publishes about a task, besides its name. */
interface Published {
  /** What the task is for, for the agents that create it. */
  readonly description?: string | undefined
  /** The JSON Schema (2020-12) of the payload; that of `input` by default. False publishes none. */
  readonly inputSchema?: JsonSchema | false | undefined
  /** The JSON Schema (2020-12) of the result; that of `output` by default. False publishes none. */
  readonly outputSchema?: JsonSchema | false | undefined
  /** Whether the task may be an MCP tool, and how; as the worker and the server decide by default. */
  readonly tool?: boolean | ToolOptions | undefined
}

export interface TaskOptions<Input extends StandardSchema, Output extends StandardSchema>
  extends Published,
    TaskPolicy,
    Hooks<SchemaOutput<Output>>,
    CronOptions {
  /** The schema of the payload. A task with an invalid payload fails permanently, before `run` is called. */
  readonly input?: Input
  /** The schema of the result. A task with an invalid result fails permanently. */
  readonly output?: Output
  /** The length of a lease of this task; that of the worker by default. */
  readonly leaseSeconds?: number
  /** The channel of its results, regardless of their size. The worker then needs `results`. */
  readonly channel?: string
  run(input: SchemaOutput<Input>, ctx: TaskContext): SchemaInput<Output> | Promise<SchemaInput<Output>>
}

/** A task type that a worker can run. */
export interface TaskDefinition<Payload = unknown, Result = unknown> extends Published {
  /** The `type` of the tasks. */
  readonly name: string
  readonly input: StandardSchema | undefined
  readonly output: StandardSchema | undefined
  readonly leaseSeconds: number | undefined
  readonly channel: string | undefined
  /** What the server enforces, in the form in which it is published. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
  readonly hooks?: Hooks | undefined
  readonly schedule?: CronOptions | undefined
  /** The worker validates the argument against `input` and the result against `output`. */
  run(input: unknown, ctx: TaskContext): unknown
  /** Only for type inference in the client. */
  readonly types?: { readonly payload: Payload; readonly result: Result } | undefined
}

/** Defines the handler of a task type: a function from the payload to the result. */
export function task<
  Input extends StandardSchema = StandardSchema,
  Output extends StandardSchema = StandardSchema,
>(
  name: string,
  options: TaskOptions<Input, Output>,
): TaskDefinition<SchemaInput<Input>, SchemaOutput<Output>> {
  const { input, output, leaseSeconds, channel, description, inputSchema, outputSchema, tool } = options
  if (typeof name !== 'string' || name === '' || name.length > 255) {
    throw new TypeError('The name of a task must have 1 to 255 characters.')
  }
  if (typeof options.run !== 'function') throw new TypeError(`Task "${name}" has no function "run".`)
  if (leaseSeconds !== undefined && !(Number.isInteger(leaseSeconds) && leaseSeconds >= 1)) {
    throw new TypeError(`Task "${name}": leaseSeconds must be an integer of at least 1.`)
  }
  for (const [side, schema] of Object.entries({ input, output })) {
    if (schema !== undefined && typeof schema['~standard']?.validate !== 'function') {
      throw new TypeError(`Task "${name}": ${side} is not a Standard Schema. Use Zod, Valibot or ArkType.`)
    }
  }
  const handler: Pick<TaskDefinition, 'run'> = options
  const published = publishedOptions(name, options)
  return {
    name,
    description,
    input,
    output,
    inputSchema,
    outputSchema,
    tool,
    leaseSeconds,
    channel,
    options: published,
    hooks: hooksOf(`Task "${name}"`, options),
    schedule: cronOptions(name, options),
    run: (value, ctx) => handler.run(value, ctx),
  }
}
