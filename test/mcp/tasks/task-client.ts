import {
  CallToolResultV2Schema,
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2'
import { z } from 'zod'
import { type Answer, META, modernPost, postTo } from '../endpoint.ts'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** The `_meta` of a client that supports tasks and forms. */
export const TASKS_META = { ...META, [CAPABILITIES]: { elicitation: {}, extensions: { [EXTENSION]: {} } } }

/** The schemas of the extension's authors, by which each result is validated. */
const RESULT_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'tasks/get': GetTaskResultV2Schema,
  'tasks/update': UpdateTaskResultV2Schema,
  'tasks/cancel': CancelTaskResultV2Schema,
}

const Task = z.looseObject({
  taskId: z.string(),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
  statusMessage: z.string().optional(),
  createdAt: z.string(),
  lastUpdatedAt: z.string(),
  pollIntervalMs: z.number(),
  result: z
    .looseObject({ isError: z.boolean().optional(), structuredContent: z.unknown().optional() })
    .optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
  inputRequests: z.record(z.string(), z.looseObject({ method: z.string() })).optional(),
})
export type Task = z.infer<typeof Task>

const Message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({ _meta: z.record(z.string(), z.unknown()) }).optional(),
  result: z.looseObject({}).optional(),
})
export type Message = z.infer<typeof Message>

/** A 2026-07-28 client that supports tasks. Every result about tasks is validated first. */
export class TaskClient {
  readonly #url: string
  readonly #meta: object
  readonly #headers: Readonly<Record<string, string>>

  constructor(
    server: { readonly url: string },
    meta: object = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#url = server.url
    this.#meta = { ...TASKS_META, ...meta }
    this.#headers = headers
  }

  ask(method: string, params: object, name?: string): Promise<Answer> {
    const headers = { ...this.#headers, ...(name !== undefined && { 'mcp-name': name }) }
    return postTo(this.#url, modernPost(method, { _meta: this.#meta, ...params }, headers))
  }

  /** Calls a tool, whatever the result type. */
  async call(name: string, args: object = {}): Promise<Answer> {
    const answer = await this.ask('tools/call', { name, arguments: args }, name)
    const { result } = answer.body ?? {}
    if (result !== undefined) {
      const schema = result.resultType === 'task' ? CreateTaskResultV2Schema : CallToolResultV2Schema
      schema.parse(result)
    }
    return answer
  }

  /** A call that becomes a task. */
  async start(name: string, args: object = {}): Promise<Task> {
    const { body } = await this.call(name, args)
    if (body?.result?.resultType !== 'task') throw new Error(`No task: ${JSON.stringify(body)}`)
    return Task.parse(body.result)
  }

  /** Calls a task method and validates its result. */
  async method(method: string, taskId: string, more: object = {}): Promise<Answer> {
    const answer = await this.ask(method, { taskId, ...more }, taskId)
    if (answer.body?.result !== undefined) RESULT_SCHEMAS[method]?.parse(answer.body.result)
    return answer
  }

  async get(taskId: string): Promise<Task> {
    const { body } = await this.method('tasks/get', taskId)
    if (body?.result === undefined) throw new Error(JSON.stringify(body))
    return Task.parse(body.result)
  }

  /** Opens a subscription stream; each task notification is validated. */
  async listen(notifications: object, id: string | number = 'ears'): Promise<SubscriptionReader> {
    const { body, headers } = modernPost('subscriptions/listen', { _meta: this.#meta, notifications }, {}, id)
    const leaving = new AbortController()
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
        ...this.#headers,
      },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
    return new SubscriptionReader(response, leaving)
  }
}

/** The reading end of a subscription stream. */
export class SubscriptionReader {
  readonly response: Response
  readonly #leaving: AbortController
  readonly #reader
  #rest = ''
  #heard: Message[] = []

  constructor(response: Response, leaving: AbortController) {
    this.response = response
    this.#leaving = leaving
    this.#reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** The next message; undefined when the stream has ended. */
  async next(): Promise<Message | undefined> {
    while (this.#heard.length === 0) {
      const { value, done } = (await this.#reader?.read()) ?? { value: undefined, done: true }
      if (done) return undefined
      const events = (this.#rest + value).split('\n\n')
      this.#rest = events.pop() ?? ''
      this.#heard = events.flatMap(messageIn)
    }
    return this.#heard.shift()
  }

  /** The next task notification. */
  async task(): Promise<Task> {
    const message = await this.next()
    if (message?.method !== 'notifications/tasks') throw new Error(`No task: ${JSON.stringify(message)}`)
    return Task.parse(message.params)
  }

  /** All messages until the end. */
  async rest(): Promise<Message[]> {
    const messages: Message[] = []
    for (let message = await this.next(); message; message = await this.next()) messages.push(message)
    return messages
  }

  leave(): void {
    this.#leaving.abort()
  }
}

function messageIn(event: string): Message[] {
  const data = event
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))
    .join('\n')
  if (data === '') return []
  const message = Message.parse(JSON.parse(data))
  if (message.method === 'notifications/tasks') TaskStatusNotificationV2Schema.parse(JSON.parse(data))
  return [message]
}
