import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Fields } from '../../src/auth/caller.ts'
import type { Caller } from '../../src/core/principal.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import type { DetailedTask } from '../../src/mcp/tasks/states.ts'
import { type TaskHandlers, taskHandlers } from '../../src/mcp/tasks/task-handlers.ts'
import { Tasks } from '../../src/mcp/tasks/tasks.ts'
import { typeTools } from '../../src/mcp/tools/task-tools.ts'
import type { Call, TaskTool } from '../../src/mcp/tools/tool.ts'
import { tasksRequired } from '../../src/mcp/transport/capabilities.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

// The task fixtures of the suite on a separate gate: task types with tools, and a worker.

const TENANT = 'default'
const ADMIN: Caller = { tenant: TENANT, principal: { kind: 'human', id: 'fixtures' }, role: 'admin' }
const WORKER: Caller = { tenant: TENANT, principal: { kind: 'worker', id: 'fixtures' }, role: 'worker' }

/** How the handler ends. */
type End =
  | { readonly result: unknown }
  | { readonly error: Fields }
  | { readonly ask: { readonly message: string; readonly schema: Fields } }

const Seconds = z.object({ seconds: z.number(), label: z.string().default('') })
const form = (properties: Fields) => ({ type: 'object', properties })
const CONFIRM = form({ confirm: { type: 'boolean' } })
const NAME = form({ name: { type: 'string' }, confirm: { type: 'boolean' } })

/** The handlers of the worker, by type. */
const WORK: Readonly<Record<string, (offer: OfferView) => Promise<End>>> = {
  async slow_compute({ payload }) {
    const { seconds, label } = Seconds.parse(payload)
    await delay(seconds * 1000)
    return { result: { done: label } }
  },
  async failing_job() {
    await delay(1000)
    return { error: { message: 'This job always fails' } }
  },
  async protocol_error_job() {
    return { error: { code: -32603, message: 'This job breaks the protocol' } }
  },
  async confirm_delete({ answers }) {
    return answers?.length ? { result: answers[0] } : { ask: { message: 'Delete it?', schema: CONFIRM } }
  },
  async multi_input({ answers }) {
    const schema = form({ first: NAME, second: NAME })
    return answers?.length ? { result: answers[0] } : { ask: { message: 'Two things:', schema } }
  },
  async named_job({ payload }) {
    return { result: { hello: payload } }
  },
}

/** Only for clients that support tasks. */
const TASK_ONLY: ReadonlySet<string> = new Set(['failing_job'])

export interface TaskFixtures {
  readonly tools: ReadonlyMap<string, TaskTool>
  readonly definition: TaskHandlers
}

export async function openTaskFixtures(onError: (error: unknown) => void): Promise<TaskFixtures> {
  const gate = openGate({ store: await openSqliteStore({ path: ':memory:' }), onError })
  for (const type of Object.keys(WORK)) {
    const tool = { name: type, description: `Fixture ${type}`, wait_seconds: 20 }
    await gate.registerTaskType(ADMIN, { type, tool })
  }
  void work(gate, onError)
  const definition = taskHandlers({ gate, waitTool: 'wait', onError })
  const tools = await typeTools(gate, 'wait').tools(TENANT)
  return {
    definition: { ...definition, modern: new PartTasks({ gate, states: definition.states, onError }) },
    tools: new Map([...tools].map(([name, tool]) => [name, TASK_ONLY.has(name) ? taskOnly(tool) : tool])),
  }
}

function taskOnly(tool: TaskTool): TaskTool {
  return {
    ...tool,
    async create(args, call) {
      if (call.tasks === undefined) throw tasksRequired()
      return tool.create(args, call)
    },
  }
}

async function work(gate: Gate, onError: (error: unknown) => void): Promise<void> {
  for (;;) {
    const { tasks } = await gate.leaseNext(WORKER, { worker_id: 'fixtures', max_tasks: 10, wait_seconds: 50 })
    for (const offer of tasks) void end(gate, offer).catch(onError)
  }
}

async function end(gate: Gate, offer: OfferView): Promise<void> {
  const { task_id, lease_id, type } = offer
  const held = { worker_id: 'fixtures', task_id, lease_id }
  const ended = await WORK[type]?.(offer)
  if (ended === undefined) return
  // Tasks that were canceled in the meantime have no lease.
  if ((await gate.getTask(ADMIN, { task_id })).status === 'canceled') return
  if ('ask' in ended) await gate.ask(WORKER, { ...held, kind: 'input', request: ended.ask })
  else if ('error' in ended) await gate.fail(WORKER, { ...held, error: ended.error })
  else await gate.complete(WORKER, { ...held, result: ended.result, artifacts: [] })
}

const Part = z.object({ action: z.literal('accept'), content: z.record(z.string(), z.unknown()) })
const PARTS = ['first', 'second']

/**
 * Splits a question for several values into separate requests, which can be answered one by one. The gate itself asks
 * one question at a time.
 */
class PartTasks extends Tasks {
  readonly #given = new Map<string, Map<string, unknown>>()

  override async get(taskId: string, call: Call): Promise<DetailedTask> {
    const task = await super.get(taskId, call)
    if (!JSON.stringify(task.inputRequests ?? {}).includes('"json"')) return task
    const elicit = (message: string) => ({
      method: 'elicitation/create',
      params: { mode: 'form', message, requestedSchema: NAME },
    })
    const open = PARTS.filter((part) => !this.#given.get(taskId)?.has(part))
    return { ...task, inputRequests: Object.fromEntries(open.map((part) => [part, elicit(part)])) }
  }

  override async update(taskId: string, responses: Fields, call: Call): Promise<undefined> {
    const given = this.#given.get(taskId) ?? new Map<string, unknown>()
    for (const part of PARTS) {
      const { data } = Part.safeParse(responses[part])
      if (data !== undefined) given.set(part, data.content)
    }
    if (given.size === 0) return super.update(taskId, responses, call)
    this.#given.set(taskId, given)
    if (given.size < PARTS.length) return
    const json = JSON.stringify(Object.fromEntries(given))
    await super.update(taskId, { q1: { action: 'accept', content: { json } } }, call)
  }
}
