import { serverCommand } from '../client.ts'
import { CliError, EXIT } from '../exit.ts'
import { text } from '../input.ts'
import { ProgressLine, paintStatus } from '../output.ts'

const tail = serverCommand({
  name: 'tail',
  summary: 'Follow the changes of tasks as they happen; Ctrl-C ends it.',
  options: {
    task: text('TASK_ID', 'only changes of this task'),
    session: text('ID', 'only changes of tasks of this session'),
    worker: text('ID', 'only changes of tasks of this worker'),
    count: text('N', 'end after this number of changes'),
  },
  notes: () => 'With --json each change is one line.',
  async run(client, input, output) {
    const count = input.integer('count') ?? Number.POSITIVE_INFINITY
    const progress = new ProgressLine()
    progress.show('waiting for changes')
    let seen = 0
    for await (const change of client.events({
      task_id: input.text('task'),
      session_id: input.text('session'),
      worker_id: input.text('worker'),
    })) {
      progress.clear()
      output.event(change)
      const { at, status, task_id, type, principal_ai, worker_id } = change
      const worker = worker_id === null ? '' : ` by ${worker_id}`
      output.print(
        `${at}  ${paintStatus(status.padEnd(9))}  ${task_id}  ${type}  for ${principal_ai}${worker}`,
      )
      seen++
      if (seen >= count) return
    }
    throw new CliError(EXIT.unreachable, 'The server has ended the stream.', 'Run the command again.')
  },
})

export const commands = [tail]
