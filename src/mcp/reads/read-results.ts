import {
  type GetPromptResult,
  isSpecType,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { Fault } from '../../core/errors.ts'
import type { Links } from '../../features/links.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import type { WaitAnswer } from '../../features/tasks/wait-for-task.ts'
import { outwardUri } from '../../features/upstreams/reads.ts'
import { isObject } from '../../util/guards.ts'
import { approvalWords } from '../tasks/status-messages.ts'
import type { Call } from '../tools/tool.ts'

/** The contents of a resource, with the URIs for clients. */
export function contentsOf(value: unknown, upstream: string): ReadResourceResult {
  if (!isSpecType.ReadResourceResult(value)) throw unusable(upstream)
  const contents = value.contents.map((content) => ({ ...content, uri: outwardUri(upstream, content.uri) }))
  return { ...value, contents }
}

/** A prompt, with the URIs of its resources for clients. */
export function promptOf(value: unknown, upstream: string): GetPromptResult {
  if (!isSpecType.GetPromptResult(value)) throw unusable(upstream)
  const messages = value.messages.map((message) => {
    const { content } = message
    switch (content.type) {
      case 'resource_link':
        return { ...message, content: { ...content, uri: outwardUri(upstream, content.uri) } }
      case 'resource': {
        const resource = { ...content.resource, uri: outwardUri(upstream, content.resource.uri) }
        return { ...message, content: { ...content, resource } }
      }
      default:
        return message
    }
  })
  return { ...value, messages }
}

function unusable(upstream: string): Fault {
  return new Fault('UPSTREAM_REFUSED', { upstream, problem: 'the response violates the protocol' })
}

/** The error for a read whose task has not ended. Unlike a tool call, a read cannot return a task. */
export function notEnded(task: WaitAnswer, links: Links, waitTool: string): Fault {
  const { task_id, status } = task
  const what =
    status === 'pending_approval' ? approvalWords(task, links) : 'The upstream has not answered yet.'
  const message = `${what} Call ${waitTool} with task_id ${task_id} for the result.`
  return new Fault('READ_NOT_DONE', { task_id, status, ...links.console(task_id, status) }, message)
}

/** The error code for an unknown resource. */
const NO_RESOURCE = -32_002

/** The failure of a read as a JSON-RPC error. `uri` is set for a resource. */
export function failureOf(task: TaskView, call: Call, uri: string | undefined): ProtocolError {
  const { task_id, status, result } = task
  const error = isObject(result?.error) ? result.error : {}
  const details = isObject(error.details) ? error.details : {}
  if (uri !== undefined && details.rpc_code === NO_RESOURCE) return new ResourceNotFoundError(uri)
  const message = typeof error.message === 'string' ? error.message : `The task of this read is ${status}.`
  const code =
    details.rpc_code === ProtocolErrorCode.InvalidParams
      ? ProtocolErrorCode.InvalidParams
      : ProtocolErrorCode.InternalError
  const { requestId } = call
  return new ProtocolError(code, message, {
    ...error,
    task_id,
    status,
    ...(requestId !== undefined && { request_id: requestId }),
  })
}
