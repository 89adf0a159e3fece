import type { Task } from '../../../client/operations.ts'
import { type Client, serverCommand } from '../../client.ts'
import { CliError, EXIT, type ExitCode } from '../../exit.ts'
import { text } from '../../input.ts'
import { type Output, ProgressLine, warn } from '../../output.ts'
import { LAST, taskId } from './last.ts'
import { printOutcome, progressLine } from './print.ts'

/** Duration of one call, short enough to update the progress line. */
const WAIT_SECONDS = 20

export const wait = serverCommand({
  name: 'tasks wait',
  summary: 'Wait for a task to end. Exit code 0 if it succeeded, 1 if it did not.',
  takes: ['[TASK_ID]'],
  options: { timeout: text('SECONDS', 'give up after this time; default never'), ...LAST },
  run: async (client, input, output) =>
    waitFor(client, await taskId(client, input), output, { timeout: input.integer('timeout') }),
})

/** Waits for a task, prints it, and returns the exit code. `hint` was printed already. */
export async function waitFor(
  client: Client,
  task_id: string,
  output: Output,
  { timeout, hint }: { readonly timeout?: number | undefined; readonly hint?: string | undefined },
): Promise<ExitCode> {
  const started = Date.now()
  const progress = new ProgressLine()
  const elapsed = () => Math.round((Date.now() - started) / 1000)
  const left = () => (timeout === undefined ? WAIT_SECONDS : Math.max(0, timeout - elapsed()))
  let printed = hint
  progress.show('waiting')
  for (;;) {
    const wait_seconds = Math.min(WAIT_SECONDS, left())
    // The first call also returns when the task waits for a person, the others only when it has ended.
    const until = printed === undefined ? 'rest' : 'done'
    const task = await client.call('waitForTask', { task_id, wait_seconds, until })
    progress.clear()
    if (task.done) {
      output.result(task, () => printOutcome(output, task))
      return task.status === 'succeeded' ? EXIT.ok : EXIT.failure
    }
    if (left() === 0) throw timeoutError(task, elapsed())
    if (task.hint !== undefined && task.hint !== printed && !output.json) warn(task.hint)
    printed = task.hint ?? ''
    progress.show(`${task.status} for ${elapsed()} s ${progressLine(task)}`)
  }
}

function timeoutError(task: Task, seconds: number): CliError {
  return new CliError(
    EXIT.failure,
    `The task is still ${task.status} after ${seconds} s.`,
    `It continues; wait again with "asyncgate tasks wait ${task.task_id}".`,
    task,
  )
}
