import { Fault } from '../core/errors.ts'

const NAME = /^([a-z][a-z0-9]*):/

/** The channel that a pointer names; undefined if it is no pointer. */
export function channelOf(pointer: string): string | undefined {
  return NAME.exec(pointer)?.[1]
}

/** What follows the name of the channel. */
export function dataOf(pointer: string, channel: string): string {
  if (channelOf(pointer) !== channel) throw notFound(pointer)
  return pointer.slice(channel.length + 1)
}

/** The same answer for what does not exist, what is outside of the channel and what is another task's. */
export function notFound(pointer: string): Fault {
  return new Fault('RESULT_NOT_FOUND', { pointer: shortened(pointer) })
}

/** For messages: an inline pointer is as long as its content. */
function shortened(pointer: string): string {
  return pointer.length <= 512 ? pointer : `${pointer.slice(0, 512)}…`
}

/** Task ids become names of files and keys. Those of a gate always fit. */
const SAFE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

export function checkTaskId(taskId: string): string {
  if (!SAFE_ID.test(taskId)) {
    throw new Fault('VALIDATION_ERROR', { path: 'task_id', problem: 'cannot be the name of a file' })
  }
  return taskId
}
