import { type CallToolResult, isCallToolResult } from '@modelcontextprotocol/server'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import { TOOL_CALL } from '../../features/sessions/tool-calls.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { answered, type Call } from '../tools/tool.ts'

const NOTHING = { result: null, error: null, artifacts: null }

/** The result of a tool call whose task has ended. A failure is a result with isError. */
export function ended(
  { task_id, type, status, result }: TaskView,
  call: Pick<Call, 'listing'>,
): CallToolResult {
  const { result: value, error, artifacts } = result ?? NOTHING
  if (status !== 'succeeded') return { ...answered({ task_id, status, error }, call), isError: true }
  if (type === TOOL_CALL && isCallToolResult(value)) return fromUpstream(value, call)
  if (value === null && artifacts !== null) return answered({ result: value, artifacts }, call)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return answered(value, call)
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] }
}

/** A model was not shown the schema of the data, and reads the same in the content. */
function fromUpstream(result: CallToolResult, { listing }: Pick<Call, 'listing'>): CallToolResult {
  const { structuredContent, ...shown } = result
  if (structuredContent === undefined || listing?.isComplete) return result
  if (shown.content.length > 0) return shown
  return { ...shown, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] }
}

/**
 * The task with its result. The result of a tool call may be too large for its task and be stored in a channel, from
 * which it is read here. If it is not there any more, the task is returned unchanged.
 */
export async function withResolvedResult<View extends TaskView>(
  gate: Gate,
  caller: Caller,
  task: View,
): Promise<View> {
  const { result } = task
  if (task.type !== TOOL_CALL || result === undefined || result.how_to_retrieve === undefined) return task
  try {
    const opened = await gate.openResult(caller, { task_id: task.task_id })
    const parts: Uint8Array[] = []
    for await (const part of opened.read()) parts.push(part)
    return { ...task, result: { ...result, result: JSON.parse(Buffer.concat(parts).toString('utf8')) } }
  } catch (error) {
    if (error instanceof Fault) return task
    throw error
  }
}
