import { Permanent } from './errors.ts'

/** Where a result was put, as the agent will find it in the `artifacts` of the task. */
export interface StoredResult {
  readonly pointer: string
  readonly channel: string
  readonly checksum: string
  readonly size: number
  readonly media_type?: string
}

/** Keeps results that are not to travel with the task. The channels of AsyncGate are such stores. */
export interface ResultStore {
  /** A value as JSON; what else it takes, such as streams of bytes, is the store's to say. */
  put(taskId: string, value: unknown, channel?: string): Promise<StoredResult>
}

/** A result whose JSON is longer leaves the task, if the worker has `results`. */
export const MAX_INLINE_BYTES = 1024 * 1024

const INVALID = { code: 'INVALID_OUTPUT' }

/** How a result is reported. */
export interface Result {
  readonly result: unknown
  readonly artifacts: readonly object[]
  /** Of its JSON. */
  readonly bytes: number
}

/** The result as part of the task, or what points to it if it is kept elsewhere. */
export async function resultOf(
  taskId: string,
  output: unknown,
  channel: string | undefined,
  store: ResultStore | undefined,
): Promise<Result> {
  const isRaw = output instanceof Uint8Array || isStream(output)
  if (store === undefined && isRaw) {
    throw new Permanent('Bytes and streams can only be kept elsewhere: give the worker "results".', INVALID)
  }
  if (store !== undefined && (channel !== undefined || isRaw)) {
    return pointingTo(await store.put(taskId, output, channel))
  }
  const bytes = bytesOf(jsonOf(output))
  if (store !== undefined && bytes > MAX_INLINE_BYTES) return pointingTo(await store.put(taskId, output))
  const artifacts = [{ type: 'inline', url: `inline://task/${taskId}/result` }]
  return { result: output ?? null, artifacts, bytes }
}

function pointingTo(stored: StoredResult): Result {
  return { result: stored, artifacts: [stored], bytes: bytesOf(JSON.stringify(stored)) }
}

function isStream(output: unknown): boolean {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output
}

/** What JSON leaves out altogether, such as undefined, is null. */
function jsonOf(output: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(output)
    return text ?? 'null'
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Permanent(`The result is not JSON: ${why}`, { ...INVALID, cause })
  }
}

/** In UTF-8. Counted only where it matters: a character has 1 to 3 bytes for each of its units. */
function bytesOf(text: string): number {
  return text.length * 3 <= MAX_INLINE_BYTES ? text.length : new TextEncoder().encode(text).length
}
