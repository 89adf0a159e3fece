import { z } from 'zod'
import { visibleText } from '../../../util/untrusted-text.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'

const pageShape = z.looseObject({
  lines: z.array(
    z.looseObject({
      at: z.string(),
      level: z.string(),
      text: z.string(),
      context: z.looseObject({}).optional(),
    }),
  ),
  next_cursor: z.string().nullable(),
})

export const tasksLogs = command({
  name: 'tasks logs',
  summary: 'Show what workers logged about a task, oldest first.',
  takes: ['TASK_ID'],
  options: {
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 200; default 50' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'where an earlier list ended' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const page = await clientOf(input).get(
      `/v1/tasks/${encodeURIComponent(input.word(0))}/logs`,
      { limit: input.whole('limit'), cursor: input.text('cursor') },
      pageShape,
    )
    output.answer(page, () => {
      if (page.lines.length === 0) return output.say('Nothing was logged about this task.')
      for (const { at, level, text, context } of page.lines) {
        const more = context === undefined ? '' : ` ${JSON.stringify(context)}`
        output.say(visibleText(`${at} ${level.padEnd(5)} ${text}${more}`))
      }
      if (page.next_cursor !== null) warn(`There are more: --cursor ${page.next_cursor}`)
    })
    return undefined
  },
})
