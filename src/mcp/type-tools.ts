import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { callerOf, type Fields, splitIdentity } from '../auth/caller.ts'
import type { Gate } from '../gate/gate.ts'
import type { WaitAnswer } from '../gate/reads/wait-for-task.ts'
import { DEFAULT_TOOL_WAIT_SECONDS, type TaskTypeView, toolName } from '../gate/task-types-shape.ts'
import { type CreateAnswer, createInput } from '../gate/verbs/create.ts'
import { answered, asFault, type Call, type RunTool, refused } from './tool.ts'

export interface TypeToolOptions {
  readonly gate: Gate
  /** The tools of the gate itself, whose names are taken. */
  readonly own: readonly Tool[]
  /** The tool with which a model goes on when the result does not come in time. */
  readonly waitTool: string
  readonly onError: (error: unknown) => void
}

/** What a tenant sees: the gate's own tools, then its types. */
interface Shelf {
  readonly tools: readonly Tool[]
  readonly types: ReadonlyMap<string, TaskTypeView>
}

/** Calls of these tools are made by whoever could create the task. */
const CREATE = { actor: 'agent', input: createInput } as const

/** Types of tasks as tools: a call creates the task, and answers with its result if it comes in time. */
export class TypeTools {
  readonly #options: TypeToolOptions
  readonly #taken: ReadonlySet<string>
  readonly #shelves = new WeakMap<readonly TaskTypeView[], Shelf>()

  constructor(options: TypeToolOptions) {
    this.#options = options
    this.#taken = new Set(options.own.map(({ name }) => name))
  }

  /** While the database does not answer, the gate's own tools are all there is. */
  async list(tenant: string): Promise<readonly Tool[]> {
    try {
      return (await this.#shelf(tenant)).tools
    } catch (error) {
      asFault(error, this.#options.onError)
      return this.#options.own
    }
  }

  async find(name: string, tenant: string): Promise<RunTool | undefined> {
    try {
      const type = (await this.#shelf(tenant)).types.get(name)
      return type && ((args, call) => this.#run(type, args, call))
    } catch (error) {
      const fault = asFault(error, this.#options.onError)
      return async (_, { requestId }) => refused(fault, requestId)
    }
  }

  async #shelf(tenant: string): Promise<Shelf> {
    const { gate, own, waitTool } = this.#options
    const listed = await gate.toolTypes(tenant)
    const known = this.#shelves.get(listed)
    if (known !== undefined) return known
    const shown = listed.filter((type) => !this.#taken.has(toolName(type)))
    const shelf: Shelf = {
      tools: shown.length === 0 ? own : [...own, ...shown.map((type) => definition(type, waitTool))],
      types: new Map(shown.map((type) => [toolName(type), type])),
    }
    this.#shelves.set(listed, shelf)
    return shelf
  }

  async #run(type: TaskTypeView, args: Fields, call: Call): Promise<CallToolResult> {
    const { gate, waitTool, onError } = this.#options
    try {
      if (call.flaw) throw call.flaw
      const { identity, rest } = splitIdentity(args, (name) => name in propertiesOf(type))
      const { caller } = callerOf(call.credential, CREATE, identity)
      const created = await gate.create(caller, { type: type.type, payload: rest })
      const wait = { task_id: created.task_id, wait_seconds: waitOf(type) }
      const task = await gate.waitForTask(caller, wait, call.signal).catch((error: unknown) => {
        // The task is there, and an error would only make the caller ask for it twice.
        asFault(error, onError)
        return undefined
      })
      return task?.done ? ended(task) : underWay(created, task, waitTool)
    } catch (error) {
      return refused(asFault(error, onError), call.requestId)
    }
  }
}

function waitOf({ tool }: TaskTypeView): number {
  return tool?.wait_seconds ?? DEFAULT_TOOL_WAIT_SECONDS
}

function propertiesOf({ payload_schema }: TaskTypeView): object {
  const properties = payload_schema?.properties
  return typeof properties === 'object' && properties !== null ? properties : {}
}

function definition(type: TaskTypeView, waitTool: string): Tool {
  const { tool, payload_schema } = type
  const what = tool?.description ?? type.description ?? `Has a worker do a task of type ${type.type}.`
  const later = `If the result is not there within ${waitOf(type)} s, it answers with a task_id for ${waitTool}.`
  return {
    name: toolName(type),
    ...(tool?.title !== undefined && { title: tool.title }),
    description: `${what} ${later}`,
    inputSchema: {
      ...payload_schema,
      type: 'object',
      // The payload's own field of the same name comes first.
      properties: { agent_id: AGENT, ...propertiesOf(type) },
    },
  }
}

const AGENT = { type: 'string', description: 'Who you are, under a shared key' } as const

/** The result itself; or, as an error of the tool, how the task failed. */
export function ended({ task_id, status, result }: WaitAnswer): CallToolResult {
  const { result: value, error, artifacts } = result ?? { result: null, error: null, artifacts: null }
  if (status !== 'succeeded') return { ...answered({ task_id, status, error }), isError: true }
  if (value === null && artifacts !== null) return answered({ result: value, artifacts })
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return answered(value)
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] }
}

function underWay(created: CreateAnswer, task: WaitAnswer | undefined, waitTool: string): CallToolResult {
  const { task_id, estimated_runtime_seconds, poll_suggestion_seconds } = created
  return answered({
    task_id,
    status: task?.status ?? created.status,
    done: false,
    ...(task?.progress !== undefined && { progress: task.progress }),
    ...(estimated_runtime_seconds !== undefined && { estimated_runtime_seconds }),
    ...(poll_suggestion_seconds !== undefined && { poll_suggestion_seconds }),
    hint: `The work goes on. Call ${waitTool} with this task_id for the result, and do not ask for the same again.`,
  })
}
