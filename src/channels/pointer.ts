import { Fault } from '../core/errors.ts'

const NAME = /^([a-z][a-z0-9]*):/

/** The channel of a pointer; undefined if the text is not a pointer. */
export function channelOf(pointer: string): string | undefined {
  return NAME.exec(pointer)?.[1]
}

/** The part of a pointer after the name of its channel. */
export function dataOf(pointer: string, channel: string): string {
  if (channelOf(pointer) !== channel) throw notFound(pointer)
  return pointer.slice(channel.length + 1)
}

/** The same error for results that do not exist, are outside of the channel or belong to another task. */
export function notFound(pointer: string): Fault {
  // An inline pointer contains the payload.
  const shown = pointer.length <= 512 ? pointer : `${pointer.slice(0, 512)}…`
  return new Fault('RESULT_NOT_FOUND', { pointer: shown })
}

/** The storage of a channel failed. Only the operator sees the cause; callers see the code. */
export function unavailable(channel: string, cause: unknown): Fault {
  const fault = new Fault('CHANNEL_UNAVAILABLE', { channel })
  fault.cause = cause
  return fault
}

/** Settles as the promise does, with CHANNEL_UNAVAILABLE in place of any error that is not a Fault. */
export async function orUnavailable<T>(channel: string, done: Promise<T>): Promise<T> {
  try {
    return await done
  } catch (error) {
    throw error instanceof Fault ? error : unavailable(channel, error)
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Task ids become file names and keys. Those of the server always match. */
const SAFE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

export function checkTaskId(taskId: string): string {
  if (!SAFE_ID.test(taskId)) {
    throw new Fault('VALIDATION_ERROR', { path: 'task_id', problem: 'cannot be the name of a file' })
  }
  return taskId
}
