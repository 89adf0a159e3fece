import {
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server'
import { type ErrorCode, Fault } from '../../core/errors.ts'
import type { Gate } from '../../features/gate.ts'
import type { Completing } from '../../features/upstreams/upstreams.ts'
import type { TaskWatch } from '../tasks/watch.ts'
import { listCaller, taskCaller } from '../tools/identity.ts'
import { type Call, META_PREFIX, type ReadSource } from '../tools/tool.ts'

const SCHEME = 'asyncgate://'
const TASK = /^asyncgate:\/\/tasks\/([0-9a-f-]{36})(\/result(?:\?offset=(\d{1,15}))?)?$/i
const TASK_TEMPLATE = `${SCHEME}tasks/{id}`
const RESULT_TEMPLATE = `${TASK_TEMPLATE}/result{?offset}`
const JSON_TYPE = 'application/json'
const MAX_LISTED = 10
/** A task that is larger is shown without its payload and its result. */
const MAX_TASK_LENGTH = 64 * 1024
const MAX_NAME = 100

/** A task that the caller may not read does not exist for them. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['TASK_NOT_FOUND', 'FORBIDDEN', 'VALIDATION_ERROR'])

const DELEGATE: Prompt = {
  name: 'delegate',
  title: 'Delegate this work',
  description:
    'Has the model create a task for work that takes long, continue with other things, and collect the result.',
  arguments: [
    { name: 'work', description: 'The work to delegate, in words', required: true },
    { name: 'type', description: 'The type of the task; the model chooses one if absent' },
  ],
}

/** The tasks of the gate as resources, and a prompt to delegate work. */
export class OwnReads implements ReadSource {
  readonly #gate: Gate
  readonly #watch: TaskWatch
  readonly #listeners = new Set<(uri: string) => void>()

  constructor(gate: Gate, watch: TaskWatch) {
    this.#gate = gate
    this.#watch = watch
  }

  /** The list of the newest tasks changes too often to be announced. */
  capabilities() {
    return { prompts: {}, resources: { subscribe: true }, completions: {} }
  }

  async prompts(): Promise<Prompt[]> {
    return [DELEGATE]
  }

  /** The newest tasks. All others can be read by the templates. */
  async resources(call: Call): Promise<Resource[]> {
    const { tasks } = await this.#gate.listTasks(listCaller(call), { limit: MAX_LISTED })
    return tasks.map(({ task_id, type, summary, status }) => ({
      uri: taskUri(task_id),
      name: (summary ?? type).slice(0, MAX_NAME).toWellFormed(),
      description: `Task of type ${type}, ${status}`,
      mimeType: JSON_TYPE,
    }))
  }

  async templates(): Promise<ResourceTemplateType[]> {
    return [
      {
        uriTemplate: TASK_TEMPLATE,
        name: 'task',
        title: 'A task',
        description: 'The current state of a task',
        mimeType: JSON_TYPE,
      },
      {
        uriTemplate: RESULT_TEMPLATE,
        name: 'task_result',
        title: 'The result of a task',
        description: `The result of a task that has ended, in pages: _meta["${NEXT}"] is the URI of the next page`,
      },
    ]
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
  ): Promise<GetPromptResult | undefined> {
    if (name !== DELEGATE.name) return undefined
    const { work = '', type = '' } = args
    if (work.trim() === '') {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The argument work is required.')
    }
    const text = delegation(work, type.trim())
    return {
      description: DELEGATE.title ?? '',
      messages: [{ role: 'user', content: { type: 'text', text } }],
    }
  }

  /** Serves every URI with the scheme of the gate, so that none reaches an upstream. */
  async readResource(uri: string, call: Call): Promise<ReadResourceResult | undefined> {
    if (!isOwnUri(uri)) return undefined
    const [, task_id, page, offset = '0'] = TASK.exec(uri) ?? []
    try {
      if (task_id === undefined) throw notFound(uri)
      return page === undefined
        ? await this.#task(uri, task_id, call)
        : await this.#result(uri, task_id, Number(offset), call)
    } catch (error) {
      throw asNotFound(error, uri)
    }
  }

  /** Completes the id of a task in the templates. Like a read, it never reaches an upstream. */
  async complete({ ref, argument }: Completing, call: Call): Promise<CompleteResult | undefined> {
    if (ref.type !== 'ref/resource' || !isOwnUri(ref.uri)) return undefined
    const isTaskId = [TASK_TEMPLATE, RESULT_TEMPLATE].includes(ref.uri) && argument.name === 'id'
    if (!isTaskId) return { completion: { values: [] } }
    const prefix = argument.value
    const { values, hasMore } = await this.#gate.completeTaskId(listCaller(call), { prefix })
    return { completion: { values: [...values], hasMore } }
  }

  onChange(): () => void {
    return () => {}
  }

  onUpdate(listener: (uri: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Publishes the changes of a task that the caller may read. Resolves with an unsubscribe function. */
  async watch(uri: string, call: Call): Promise<() => void> {
    const task_id = taskOfUri(uri)
    if (task_id === undefined) throw notFound(uri)
    const caller = taskCaller(call)
    await this.#gate.peekTask(caller, { task_id }).catch((error: unknown) => {
      throw asNotFound(error, uri)
    })
    return this.#watch.watch(caller.tenant, task_id, () => {
      for (const listener of this.#listeners) listener(uri)
    })
  }

  async #task(uri: string, task_id: string, call: Call): Promise<ReadResourceResult> {
    const task = await this.#gate.getTask(taskCaller(call), { task_id })
    const text = JSON.stringify(task)
    const { payload: _, result, ...rest } = task
    const isLarge = text.length > MAX_TASK_LENGTH
    const shown = isLarge ? JSON.stringify({ ...rest, ...(result && { result: resultUri(task_id) }) }) : text
    return { contents: [{ uri, mimeType: JSON_TYPE, text: shown }] }
  }

  async #result(uri: string, task_id: string, offset: number, call: Call): Promise<ReadResourceResult> {
    const page = await this.#gate.fetchTaskResult(taskCaller(call), { task_id, offset })
    const { encoding, content, media_type, next_offset, size } = page
    const mimeType = media_type ?? (encoding === 'json' ? JSON_TYPE : undefined)
    const _meta = {
      ...(next_offset !== null && { [NEXT]: `${resultUri(task_id)}?offset=${next_offset}` }),
      ...(size !== null && { [`${META_PREFIX}size`]: size }),
    }
    const about = { uri, ...(mimeType !== undefined && { mimeType }), _meta }
    if (encoding === 'base64') return { contents: [{ ...about, blob: String(content) }] }
    return { contents: [{ ...about, text: encoding === 'json' ? JSON.stringify(content) : String(content) }] }
  }
}

/** In `_meta` of a page: the URI of the next page. */
const NEXT = `${META_PREFIX}next`

export function isOwnUri(uri: string): boolean {
  return uri.toLowerCase().startsWith(SCHEME)
}

/** The task of a resource, for subscriptions. */
export function taskOfUri(uri: string): string | undefined {
  return TASK.exec(uri)?.[1]?.toLowerCase()
}

function taskUri(taskId: string): string {
  return `${SCHEME}tasks/${taskId}`
}

function resultUri(taskId: string): string {
  return `${taskUri(taskId)}/result`
}

function notFound(uri: string): ResourceNotFoundError {
  return new ResourceNotFoundError(uri, `Resource not found: ${uri.slice(0, 256)}`)
}

function asNotFound(error: unknown, uri: string): unknown {
  return error instanceof Fault && UNKNOWN.has(error.code) ? notFound(uri) : error
}

function delegation(work: string, type: string): string {
  const kind =
    type === ''
      ? 'Choose its type with list_task_types, whose entries say what workers can do'
      : `Its type is ${JSON.stringify(type)}`
  return `Delegate the following work with AsyncGate. Do not do it yourself.

<work>
${work}
</work>

1. Call create_task. ${kind}. Put everything that the worker needs into payload, a short title into summary, and an idempotency_key, so that a repeated call does not create a second task.
2. Tell me the task_id, and continue with other work.
3. When you need the result, call wait_for_task. If done is false, do something else and come back later; do not poll in a loop. If the task asks a question, answer it with answer_question, or ask me.
4. Read the result, tell me the outcome, and acknowledge the receipt of the task in your inbox.`
}
