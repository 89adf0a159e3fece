import { z } from 'zod'
import { Fault, invalid } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { isObject } from '../../util/guards.ts'
import { jsonObject, text } from '../input.ts'
import type { CreateInput } from '../tasks/task-input.ts'
import { readOf, readProblem } from '../upstreams/reads.ts'
import type { UpstreamRegistry } from '../upstreams/upstreams.ts'

/** The type of tasks that are calls of upstream tools. The gateway executes them; their result is that of the tool. */
export const TOOL_CALL = 'mcp.tool_call'

/**
 * Each session has a number, its session lane, and a capability with that number, which its calls require and only its
 * slots have. Its calls therefore have a separate lane. Callers can neither require nor claim with such a capability.
 */
const SESSION_LANE = 'mcp.session-lane.'

/** The session lane of calls that belong to no session. */
export const COMMON_SESSION_LANE = 0

/** Default for tool calls: three attempts, with pauses of 1 s and 2 s. */
export const TOOL_CALL_DEFAULTS = { default_max_attempts: 3, default_retry_backoff_seconds: 1 }

export interface ToolCall {
  readonly upstream: string
  /** The name at the upstream. */
  readonly tool: string
  readonly arguments: JsonObject
}

const toolCall = z.strictObject({
  upstream: text(255),
  tool: text(256),
  arguments: jsonObject.default({}),
})

export function sessionLaneName(sessionLane: number): string {
  return SESSION_LANE + sessionLane
}

/** The session lane among the capabilities of a lane. */
export function sessionLaneOf(capabilities: readonly string[]): number | undefined {
  const name = capabilities.find((capability) => capability.startsWith(SESSION_LANE))
  return name === undefined ? undefined : Number(name.slice(SESSION_LANE.length))
}

export function checkNoSessionLane(capabilities: readonly string[], path: string): void {
  if (sessionLaneOf(capabilities) === undefined) return
  throw invalid(path, `has a name that begins with ${SESSION_LANE}, which is reserved`)
}

/** The tool call in a payload. Throws a Fault if it is malformed. */
export function readToolCall(payload: unknown): ToolCall {
  if (isToolCall(payload)) return payload
  const read = toolCall.safeParse(payload)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw invalid(['payload', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'does not fit')
}

/** A fast check of the usual form, because each call is read three times. Its content is checked as JSON. */
function isToolCall(payload: unknown): payload is ToolCall {
  if (!isObject(payload) || Object.keys(payload).length !== 3) return false
  return isWord(payload.upstream, 255) && isWord(payload.tool, 256) && isObject(payload.arguments)
}

function isWord(value: unknown, max: number): boolean {
  return typeof value === 'string' && value !== '' && value.length <= max && !value.includes('\0')
}

/** Why a tool call cannot be queued; undefined if it can. */
export function toolCallRefusal(
  input: CreateInput,
  upstreams: UpstreamRegistry | undefined,
): Fault | undefined {
  try {
    if (input.payload_pointer !== undefined)
      throw invalid('payload_pointer', 'cannot be used for a tool call')
    if ((input.requirements?.capabilities ?? []).length > 0) {
      throw invalid('requirements.capabilities', 'must be empty: the gate itself executes tool calls')
    }
    const call = readToolCall(input.payload)
    if (upstreams === undefined) throw new Fault('UPSTREAM_NOT_FOUND', { name: call.upstream })
    upstreams.offered(call.upstream, call.tool)
    checkRead(call)
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

function checkRead({ tool, arguments: args }: ToolCall): void {
  const read = readOf(tool)
  const flaw = read && readProblem(read, args)
  if (flaw !== undefined) throw invalid(`payload.arguments.${flaw.path}`, flaw.problem)
}
