import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'
import { emailShape } from './emails.ts'

const pageShape = z.looseObject({ emails: z.array(emailShape), next_cursor: z.string().nullable() })

export const emailsList = command({
  name: 'emails list',
  summary: 'List mails, oldest first.',
  options: {
    status: { type: 'string', value: 'STATUS', doc: 'pending, sent, delivered, failed or received' },
    inbound: { type: 'boolean', doc: 'those that came in; default those that go out' },
    task: { type: 'string', value: 'TASK_ID', doc: 'only of this task' },
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 200; default 50' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'where an earlier list ended' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const page = await clientOf(input).get(
      '/v1/emails',
      {
        status: input.text('status'),
        direction: input.flag('inbound') ? 'inbound' : undefined,
        task_id: input.text('task'),
        limit: input.whole('limit'),
        cursor: input.text('cursor'),
      },
      pageShape,
    )
    output.answer(page, () => {
      if (page.emails.length === 0) output.say('There are no such mails here.')
      else {
        output.table(
          ['EMAIL', 'STATUS', 'TRIES', 'FROM', 'TO', 'CREATED', 'SUBJECT'],
          page.emails.map((email) => [
            email.email_id,
            email.status,
            String(email.attempts),
            email.from,
            email.to.join(','),
            email.created_at,
            email.subject.slice(0, 60),
          ]),
        )
      }
      if (page.next_cursor !== null) warn(`There are more: --cursor ${page.next_cursor}`)
    })
    return undefined
  },
})
