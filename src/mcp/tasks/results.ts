import { type CallToolResult, isCallToolResult } from '@modelcontextprotocol/server'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import { TOOL_CALL } from '../../features/sessions/tool-calls.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { answered } from '../tools/tool.ts'

const NOTHING = { result: null, error: null, artifacts: null }

/** What a call of a tool answers whose task has ended: the result itself; or, as an error of the tool, how it failed. */
export function ended({ task_id, type, status, result }: TaskView): CallToolResult {
  const { result: value, error, artifacts } = result ?? NOTHING
  if (status !== 'succeeded') return { ...answered({ task_id, status, error }), isError: true }
  // The tool's own, as it was given.
  if (type === TOOL_CALL && isCallToolResult(value)) return value
  if (value === null && artifacts !== null) return answered({ result: value, artifacts })
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return answered(value)
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] }
}

/**
 * The task with its result in it. What a tool has answered may be too large for its task and be kept in a channel; whoever
 * called the tool gets the answer and not the place. If it is gone from there, the place is all there is.
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
