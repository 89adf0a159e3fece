import { Fault, invalid } from '../../core/errors.ts'
import { inOneGo, isNotJson, type Reading, readEnveloped } from '../../core/json/text.ts'
import { inSteps } from '../../http/steps.ts'
import { isObject } from '../../util/guards.ts'
import { META_PREFIX } from '../tools/tool.ts'

export interface Message {
  readonly body: unknown
  /** A violation of our rules for JSON. A tool call reports it as invalid input. */
  readonly flaw?: Fault
}

/**
 * The arguments of a tool are two levels deep in the message, and may be nested as deeply as the body of a REST call.
 */
const ARGUMENTS_LEVEL = 2

const MAX_BATCH = 100

/** The message in the body of a POST; undefined if it is not JSON. */
export async function readMessage(text: string): Promise<Message | undefined> {
  try {
    return messageOf(await inSteps(readEnveloped(text, ARGUMENTS_LEVEL)))
  } catch (error) {
    return unlessJson(error)
  }
}

/** The message in a line of stdin. The process serves one client, so parsing may block the event loop. */
export function readLine(text: string): Message | undefined {
  try {
    return messageOf(inOneGo(readEnveloped(text, ARGUMENTS_LEVEL)))
  } catch (error) {
    return unlessJson(error)
  }
}

function unlessJson(error: unknown): undefined {
  if (!(error instanceof Fault && isNotJson(error))) throw error
}

function messageOf({ value, flaw }: Reading): Message {
  if (Array.isArray(value) && value.length > MAX_BATCH) {
    throw invalid('', `is a batch of more than ${MAX_BATCH} messages`)
  }
  return { body: value, ...(flaw && { flaw }) }
}

export function isToolCall(body: unknown): boolean {
  return isObject(body) && body.method === 'tools/call'
}

export function isListening(body: unknown): boolean {
  return isObject(body) && body.method === 'subscriptions/listen'
}

/** The key of a client that cannot set headers: an argument of the tool, or in `_meta`. */
export function tokenOf(body: unknown): string | undefined {
  if (!isObject(body) || !isObject(body.params)) return undefined
  const { arguments: args, _meta: meta } = body.params
  const given = isToolCall(body) && isObject(args) ? args.auth_token : undefined
  const token = given ?? (isObject(meta) ? meta[TOKEN] : undefined)
  return typeof token === 'string' ? token : undefined
}

const TOKEN = `${META_PREFIX}auth_token`
