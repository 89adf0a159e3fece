import type { GetEmailAnswer } from '../../client/operations.ts'
import { serverCommand } from '../client.ts'
import { EXIT } from '../exit.ts'
import { flag, PAGE, text } from '../input.ts'
import type { Output } from '../output.ts'

const list = serverCommand({
  name: 'emails list',
  summary: 'List emails, oldest first.',
  options: {
    status: text('STATUS', 'pending, sent, delivered, failed or received'),
    inbound: flag('emails that were received; default those that are sent'),
    task: text('TASK_ID', 'only emails of this task'),
    ...PAGE,
  },
  async run(client, input, output) {
    const page = await client.call('listEmails', {
      status: input.text('status'),
      direction: input.flag('inbound') ? 'inbound' : undefined,
      task_id: input.text('task'),
      limit: input.integer('limit'),
      cursor: input.text('cursor'),
    })
    output.result(page, () => {
      output.table(
        ['EMAIL', 'STATUS', 'TRIES', 'FROM', 'TO', 'CREATED', 'SUBJECT'],
        page.emails.map((email) => [
          email.email_id,
          email.status,
          email.attempts,
          email.from,
          email.to.join(','),
          email.created_at,
          email.subject.slice(0, 60),
        ]),
        'There are no such emails.',
      )
      output.nextPage(page.next_cursor)
    })
  },
})

const show = serverCommand({
  name: 'emails show',
  summary: 'Show an email and its delivery status. --json includes the attachments.',
  takes: ['EMAIL_ID'],
  async run(client, input, output) {
    const email = await client.call('getEmail', { email_id: input.arg(0), include_content: output.json })
    output.result(email, () => printEmail(output, email))
  },
})

const retry = serverCommand({
  name: 'emails retry',
  summary: 'Send a failed email again.',
  takes: ['EMAIL_ID'],
  async run(client, input, output) {
    const { ok, email_id, status, ...rest } = await client.call('retryEmail', { email_id: input.arg(0) })
    output.result({ ok, email_id, status, ...rest }, () =>
      output.print(
        ok
          ? `${email_id} is pending again`
          : `${email_id} is ${status}; only a failed email can be sent again`,
      ),
    )
    return ok ? EXIT.ok : EXIT.failure
  },
})

function printEmail(output: Output, email: GetEmailAnswer): void {
  output.details([
    ['email', email.email_id],
    ['message', email.message_id],
    ['status', `${email.status} (${email.direction})`],
    ['from', email.from],
    ['to', email.to.join(', ')],
    ['subject', email.subject],
    ['task', email.task_id],
    ['created', email.created_at],
    ['sent', email.sent_at],
    ['delivered', email.delivered_at],
    ['tries', email.attempts || ''],
    ['next try', email.next_try_at],
    ['error', email.error],
    ...email.attachments.map(
      ({ filename, media_type, size_bytes }) =>
        ['attached', `${filename} (${media_type}, ${size_bytes} bytes)`] as const,
    ),
  ])
  const { body } = email
  if (body === null) return
  output.print()
  output.print(typeof body === 'string' ? body : JSON.stringify(body, null, 2))
}

export const commands = [list, show, retry]
