import { z } from 'zod'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent } from '../../support/gates.ts'
import { type Answer, META, modernPost, postTo } from '../endpoint.ts'
import { offerSum } from './task-work.ts'

export const CONSOLE = { url: 'https://gate.example', console: true } as const

export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** What an input_required result contains. */
const Required = z.strictObject({
  resultType: z.literal('input_required'),
  requestState: z.string(),
  inputRequests: z
    .record(
      z.string(),
      z.strictObject({
        method: z.literal('elicitation/create'),
        params: z.looseObject({ mode: z.enum(['url', 'form']), message: z.string() }),
      }),
    )
    .optional(),
  _meta: z.unknown(),
})

export type Required = z.infer<typeof Required>

/** A 2026-07-28 client without support for tasks that can ask its user. */
export class AskedClient {
  readonly #url: string
  readonly #meta: object

  constructor(server: { readonly url: string }, elicitation: object | null = { form: {}, url: {} }) {
    this.#url = server.url
    this.#meta = { ...META, [CAPABILITIES]: elicitation === null ? {} : { elicitation } }
  }

  call(name: string, args: object = {}, more: object = {}): Promise<Answer> {
    const params = { name, arguments: { agent_id: 'alice', ...args }, _meta: this.#meta, ...more }
    return postTo(this.#url, modernPost('tools/call', params, { 'mcp-name': name }))
  }

  /** A call that requires input. */
  async ask(name: string, args: object = {}, more: object = {}): Promise<Required> {
    const { body } = await this.call(name, args, more)
    return Required.parse(body?.result)
  }

  /** Repeats a call with the state of its result. */
  repeat(
    name: string,
    { requestState }: Pick<Required, 'requestState'>,
    inputResponses: object = {},
    args = {},
  ) {
    return this.call(name, args, { requestState, inputResponses })
  }

  async askAgain(name: string, before: Pick<Required, 'requestState'>, inputResponses: object = {}) {
    const { body } = await this.repeat(name, before, inputResponses)
    return Required.parse(body?.result)
  }
}

/** A tool `sum` whose calls require approval. */
export async function offerApproved(gate: Gate, rule: object = {}): Promise<void> {
  await offerSum(gate)
  await gate.putPolicy(admin(), { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type: 'sum' }, ...rule })
}

export async function tasksOf(gate: Gate, id = 'alice') {
  return (await gate.listTasks(agent(id), {})).tasks
}

/** The id of the only task. */
export async function onlyTask(gate: Gate): Promise<string> {
  const [task, ...more] = await tasksOf(gate)
  if (task === undefined || more.length > 0) throw new Error(`${more.length + (task ? 1 : 0)} tasks`)
  return task.task_id
}

export const accept = (content?: object) => ({ action: 'accept', ...(content && { content }) })
