import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { emailShape, tellEmail } from './emails.ts'

export const emailsShow = command({
  name: 'emails show',
  summary: 'Show a mail and what became of it. With --json its attachments too.',
  takes: ['EMAIL_ID'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const path = `/v1/emails/${encodeURIComponent(input.word(0))}`
    const email = await clientOf(input).get(path, { include_content: output.json }, emailShape)
    output.answer(email, () => tellEmail(output, email))
    return undefined
  },
})
