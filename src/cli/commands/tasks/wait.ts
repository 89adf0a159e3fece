import { z } from 'zod'
import { CLIENT_OPTIONS, type Client, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT, type ExitCode } from '../../exit.ts'
import { type Output, ProgressLine, warn } from '../../output.ts'
import { type Task, taskShape, tellProgress, tellTask } from './tasks.ts'

const waitedShape = taskShape.extend({ done: z.boolean() })

/** One wait of the server, short enough for the progress line to be news. */
const WAIT_SECONDS = 20

export const tasksWait = command({
  name: 'tasks wait',
  summary: 'Wait for a task to end. Exit code 0 if it succeeded, 1 if it did not.',
  takes: ['TASK_ID'],
  options: {
    timeout: { type: 'string', value: 'SECONDS', doc: 'give up after so long; default never' },
    ...CLIENT_OPTIONS,
  },
  run: (input, output) => waitFor(clientOf(input), input.word(0), input.whole('timeout'), output),
})

/** Waits until the task has ended, shows it, and says by the exit code whether it succeeded. */
export async function waitFor(
  client: Client,
  task_id: string,
  timeoutSeconds: number | undefined,
  output: Output,
  /** What was said about the task before. */
  said?: string,
): Promise<ExitCode> {
  const started = Date.now()
  const progress = new ProgressLine()
  const elapsed = () => Math.round((Date.now() - started) / 1000)
  const left = () => (timeoutSeconds === undefined ? WAIT_SECONDS : Math.max(0, timeoutSeconds - elapsed()))
  let seen = said
  progress.show('waiting')
  for (;;) {
    const wait_seconds = Math.min(WAIT_SECONDS, left())
    const task = await client.get(
      `/v1/tasks/${encodeURIComponent(task_id)}/wait`,
      // The first look says what the task waits for; then its end is what counts.
      { wait_seconds, until: seen === undefined ? 'rest' : 'done' },
      waitedShape,
    )
    progress.clear()
    if (task.done) return ended(task, output)
    if (left() === 0) throw tooLate(task, elapsed())
    if (task.hint !== undefined && task.hint !== seen && !output.json) warn(task.hint)
    seen = task.hint ?? ''
    progress.show(`${task.status} for ${elapsed()} s ${tellProgress(task)}`)
  }
}

function ended(task: Task, output: Output): ExitCode {
  output.answer(task, () => tellTask(output, task))
  return task.status === 'succeeded' ? EXIT.ok : EXIT.failure
}

function tooLate(task: Task, seconds: number): CliError {
  return new CliError(
    EXIT.failure,
    `The task is still ${task.status} after ${seconds} s.`,
    `It goes on; wait again with "asyncgate tasks wait ${task.task_id}".`,
    task,
  )
}
