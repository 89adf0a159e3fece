import type { TaskContext } from './context.ts'
import type { SchemaInput, SchemaOutput, StandardSchema } from './schema.ts'

export interface TaskOptions<Input extends StandardSchema, Output extends StandardSchema> {
  /** What the payload must be. One that is not fails for good, before `run` is called. */
  readonly input?: Input
  /** What `run` must give. Something else fails for good. */
  readonly output?: Output
  /** How long a lease of this task is; by default as long as the worker says. */
  readonly leaseSeconds?: number
  /** Where its results go, whatever their size. The worker then needs `results`. */
  readonly channel?: string
  run(input: SchemaOutput<Input>, ctx: TaskContext): SchemaInput<Output> | Promise<SchemaInput<Output>>
}

/** A kind of work that a worker can do. */
export interface TaskDefinition<Payload = unknown, Result = unknown> {
  /** The `type` of the tasks that it is for. */
  readonly name: string
  readonly input: StandardSchema | undefined
  readonly output: StandardSchema | undefined
  readonly leaseSeconds: number | undefined
  readonly channel: string | undefined
  /** What is passed has been checked against `input`, and what comes back will be against `output`. */
  run(input: unknown, ctx: TaskContext): unknown
  /** Only for the compiler: what an agent sends, and what it gets. */
  readonly types?: { readonly payload: Payload; readonly result: Result } | undefined
}

/** Without a schema. */
type Anything = StandardSchema

/** Defines what is done with tasks of one type: a function from their payload to their result. */
export function task<Input extends StandardSchema = Anything, Output extends StandardSchema = Anything>(
  name: string,
  options: TaskOptions<Input, Output>,
): TaskDefinition<SchemaInput<Input>, SchemaOutput<Output>> {
  const { input, output, leaseSeconds, channel } = options
  if (typeof name !== 'string' || name === '' || name.length > 255) {
    throw new TypeError('The name of a task is a text of 1 to 255 characters.')
  }
  if (typeof options.run !== 'function') throw new TypeError(`Task "${name}" has no function "run".`)
  if (leaseSeconds !== undefined && !(Number.isInteger(leaseSeconds) && leaseSeconds >= 1)) {
    throw new TypeError(`Task "${name}": leaseSeconds is a whole number of at least 1.`)
  }
  for (const [side, schema] of Object.entries({ input, output })) {
    if (schema !== undefined && typeof schema['~standard']?.validate !== 'function') {
      throw new TypeError(
        `Task "${name}": ${side} is not a Standard Schema. Zod, Valibot and ArkType make them.`,
      )
    }
  }
  const handler: Pick<TaskDefinition, 'run'> = options
  return { name, input, output, leaseSeconds, channel, run: (value, ctx) => handler.run(value, ctx) }
}
