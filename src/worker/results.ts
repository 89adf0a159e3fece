import { Permanent } from './errors.ts'

/** The location of a stored result, as it appears in the `artifacts` of the task. */
export interface StoredResult {
  readonly pointer: string
  readonly channel: string
  readonly checksum: string
  readonly size: number
  readonly media_type?: string
}

/** Stores results outside of the task. The channels of AsyncGate implement it. */
export interface ResultStore {
  /** Stores a value as JSON. A store may also accept other values, such as streams of bytes. */
  put(taskId: string, value: unknown, channel?: string): Promise<StoredResult>
}

/** A result whose JSON is longer is stored in `results`, if the worker has it. */
export const MAX_INLINE_BYTES = 1024 * 1024

const INVALID = { code: 'INVALID_OUTPUT' }

/** A result, as it is reported. */
export interface Result {
  readonly result: unknown
  readonly artifacts: readonly object[]
  /** The size of its JSON. */
  readonly bytes: number
}

/** The result itself, or a pointer to it if it is stored outside of the task. */
export async function resultOf(
  taskId: string,
  output: unknown,
  channel: string | undefined,
  store: ResultStore | undefined,
): Promise<Result> {
  const isRaw = output instanceof Uint8Array || isStream(output)
  if (store === undefined && isRaw) {
    throw new Permanent('Bytes and streams cannot be part of a task: give the worker "results".', INVALID)
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

/** Values without a JSON form, such as undefined, become null. */
function jsonOf(output: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(output)
    return text ?? 'null'
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Permanent(`The result is not JSON: ${why}`, { ...INVALID, cause })
  }
}

/** The size in UTF-8. It is exact only near the limit: each UTF-16 unit takes 1 to 3 bytes. */
function bytesOf(text: string): number {
  return text.length * 3 <= MAX_INLINE_BYTES ? text.length : new TextEncoder().encode(text).length
}
