import { z } from 'zod'
import { Fault, invalid } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { isObject } from '../../util/guards.ts'
import { jsonObject, text } from '../input.ts'
import type { CreateInput } from '../tasks/create.ts'
import { readOf, readProblem } from '../upstreams/reads.ts'
import type { UpstreamRegistry } from '../upstreams/upstreams.ts'

/** Tasks of this type are calls of tools of upstreams. The gateway does them; their result is the tool's own. */
export const TOOL_CALL = 'mcp.tool_call'

/**
 * Each session has a seat: a capability that its calls need and its slots have, so that its calls stand in a lane of
 * their own. Nobody outside of the gateway can ask for one, or claim with one.
 */
const SEAT = 'mcp.seat.'

/** Of calls that belong to no session. */
export const COMMON_SEAT = 0

/** For a call that does not say otherwise: three attempts, after pauses of 1 s and 2 s. */
export const TOOL_CALL_DEFAULTS = { default_max_attempts: 3, default_retry_backoff_seconds: 1 }

export interface ToolCall {
  readonly upstream: string
  /** As the upstream calls it. */
  readonly tool: string
  readonly arguments: JsonObject
}

const toolCall = z.strictObject({
  upstream: text(255),
  tool: text(256),
  arguments: jsonObject.default({}),
})

export function seatName(seat: number): string {
  return SEAT + seat
}

/** The seat among the capabilities of a lane. */
export function seatOf(capabilities: readonly string[]): number | undefined {
  const name = capabilities.find((capability) => capability.startsWith(SEAT))
  return name === undefined ? undefined : Number(name.slice(SEAT.length))
}

export function checkNoSeat(capabilities: readonly string[], path: string): void {
  if (seatOf(capabilities) === undefined) return
  throw invalid(path, `has a name that begins with ${SEAT}, which is for the gate's own use`)
}

/** The call that a payload asks for. */
export function readToolCall(payload: unknown): ToolCall {
  if (isToolCall(payload)) return payload
  const read = toolCall.safeParse(payload)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw invalid(['payload', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'does not fit')
}

/** Each call is read three times on its way, so the usual form is known at a glance. What it contains is checked as JSON. */
function isToolCall(payload: unknown): payload is ToolCall {
  if (!isObject(payload) || Object.keys(payload).length !== 3) return false
  return isWord(payload.upstream, 255) && isWord(payload.tool, 256) && isObject(payload.arguments)
}

function isWord(value: unknown, max: number): boolean {
  return typeof value === 'string' && value !== '' && value.length <= max && !value.includes('\0')
}

/** What speaks against a call, before it is queued: it must be one that can be made. */
export function toolCallRefusal(
  input: CreateInput,
  upstreams: UpstreamRegistry | undefined,
): Fault | undefined {
  try {
    if (input.payload_pointer !== undefined) throw invalid('payload_pointer', 'stands for no call of a tool')
    if ((input.requirements?.capabilities ?? []).length > 0) {
      throw invalid('requirements.capabilities', 'must be empty: calls of tools are made by the gate itself')
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
