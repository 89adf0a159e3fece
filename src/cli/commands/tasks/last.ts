import type { Client } from '../../client.ts'
import { CliError, EXIT } from '../../exit.ts'
import { flag, type Input } from '../../input.ts'

/** The option that stands for a task id. */
export const LAST = { last: flag('the newest task that you can see, instead of a TASK_ID') } as const

/** The task that a command is about: its argument, or the newest task with --last. */
export async function taskId(client: Client, input: Input<keyof typeof LAST>): Promise<string> {
  const [given] = input.args
  const wantsLast = input.flag('last')
  if (given !== undefined && wantsLast) throw input.usageError('Give a TASK_ID or --last, not both.')
  if (given !== undefined) return given
  if (!wantsLast) throw input.usageError('TASK_ID is missing.')
  const { tasks } = await client.call('listTasks', { limit: 1 })
  const [newest] = tasks
  if (newest === undefined)
    throw new CliError(EXIT.notFound, 'There are no tasks.', 'Create one with "asyncgate tasks create TYPE".')
  return newest.task_id
}
