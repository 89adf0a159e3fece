import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../client.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { ProgressLine, paintStatus } from '../output.ts'

const changeShape = z.looseObject({
  task_id: z.string(),
  type: z.string(),
  status: z.string(),
  principal_ai: z.string(),
  worker_id: z.string().nullable(),
  at: z.string(),
})

export const tail = command({
  name: 'tail',
  summary: 'Follow the changes of tasks as they happen; Ctrl-C ends it.',
  options: {
    task: { type: 'string', value: 'TASK_ID', doc: 'only of this task' },
    session: { type: 'string', value: 'ID', doc: 'only of this session' },
    worker: { type: 'string', value: 'ID', doc: 'only of this worker' },
    count: { type: 'string', value: 'N', doc: 'end after so many changes' },
    ...CLIENT_OPTIONS,
  },
  notes: () => 'With --json each change is a line of its own.',
  async run(input, output) {
    const count = input.whole('count') ?? Number.POSITIVE_INFINITY
    const changes = clientOf(input).events('/v1/events', {
      task_id: input.text('task'),
      session_id: input.text('session'),
      worker_id: input.text('worker'),
    })
    const progress = new ProgressLine()
    progress.show('waiting for changes')
    let seen = 0
    for await (const data of changes) {
      const change = changeShape.parse(JSON.parse(data))
      progress.clear()
      output.event(change)
      const worker = change.worker_id === null ? '' : `by ${change.worker_id}`
      output.say(
        `${change.at}  ${paintStatus(change.status.padEnd(9))}  ${change.task_id}  ${change.type}  for ${change.principal_ai} ${worker}`.trimEnd(),
      )
      seen++
      if (seen >= count) return undefined
    }
    throw new CliError(EXIT.unreachable, 'The server has ended the stream.', 'Run the command again.')
  },
})
