import { type CallToolResult, isCallToolResult } from '@modelcontextprotocol/server'
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
