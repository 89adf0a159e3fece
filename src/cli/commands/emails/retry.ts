import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'

const answerShape = z.looseObject({ ok: z.boolean(), email_id: z.string(), status: z.string() })

export const emailsRetry = command({
  name: 'emails retry',
  summary: 'Send a mail again that has failed.',
  takes: ['EMAIL_ID'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const path = `/v1/emails/${encodeURIComponent(input.word(0))}/retry`
    const answer = await clientOf(input).post(path, {}, answerShape)
    output.answer(answer, () =>
      output.say(
        answer.ok
          ? `${answer.email_id} is pending again`
          : `${answer.email_id} is ${answer.status}; only a failed mail is sent again`,
      ),
    )
    return answer.ok ? undefined : EXIT.failure
  },
})
