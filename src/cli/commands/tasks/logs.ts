import { visibleText } from '../../../util/untrusted-text.ts'
import { type AnswerOf, type Client, serverCommand } from '../../client.ts'
import { flag, PAGE } from '../../input.ts'
import { LAST, taskId } from './last.ts'

/** The largest page of the API. */
const MAX_PAGE = 200

/** How long to wait for the end of the task before the log is read again. */
const WAIT_SECONDS = 1

type LogLine = AnswerOf<'listLogs'>['lines'][number]

export const logs = serverCommand({
  name: 'tasks logs',
  summary: 'Show the log lines that workers wrote about a task, oldest first.',
  takes: ['[TASK_ID]'],
  options: { follow: flag('print new lines until the task has ended'), ...PAGE, ...LAST },
  notes: () => 'With --follow and --json, each line of the log is one line of JSON.',
  async run(client, input, output) {
    const from = input.text('cursor')
    const limit = input.integer('limit')
    if (input.flag('follow')) {
      if (limit !== undefined) throw input.usageError('Use either --follow or --limit.')
      for await (const line of followed(client, await taskId(client, input), from)) {
        output.event(line)
        output.print(printed(line))
      }
      return
    }
    const page = await client.call('listLogs', { task_id: await taskId(client, input), limit, cursor: from })
    output.result(page, () => {
      if (page.lines.length === 0) output.print('Nothing was logged about this task.')
      for (const line of page.lines) output.print(printed(line))
      output.nextPage(page.next_cursor)
    })
  },
})

/** All lines until the task has ended. The last page is read again, because it has no cursor for later lines. */
async function* followed(client: Client, task_id: string, from?: string): AsyncGenerator<LogLine> {
  let cursor = from
  let seen = 0
  for (let wait_seconds = 0; ; wait_seconds = WAIT_SECONDS) {
    // Before the lines are read: afterwards a task that has ended logs nothing.
    const { done } = await client.call('waitForTask', { task_id, wait_seconds, until: 'done' })
    for (;;) {
      const { lines, next_cursor } = await client.call('listLogs', { task_id, limit: MAX_PAGE, cursor })
      yield* lines.slice(seen)
      if (next_cursor === null) {
        seen = lines.length
        break
      }
      cursor = next_cursor
      seen = 0
    }
    if (done) return
  }
}

function printed({ at, level, text, context }: LogLine): string {
  const more = context === undefined ? '' : ` ${JSON.stringify(context)}`
  return visibleText(`${at} ${level.padEnd(5)} ${text}${more}`)
}
