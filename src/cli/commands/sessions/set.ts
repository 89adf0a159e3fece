import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { pathOf, sessionShape } from './sessions.ts'

const AS_CONFIGURED = 'default'

export const sessionsSet = command({
  name: 'sessions set',
  summary: 'Change how many calls of a session are made at once, or may be open.',
  takes: ['SESSION_ID'],
  options: {
    workers: { type: 'string', value: 'N', doc: `calls at once; ${AS_CONFIGURED}: as configured` },
    queue: { type: 'string', value: 'N', doc: `open calls; ${AS_CONFIGURED}: as configured` },
    ...CLIENT_OPTIONS,
  },
  notes: () => 'It holds for this client from now on, also when it comes back.',
  async run(input, output) {
    const limit = (name: 'workers' | 'queue') =>
      input.text(name) === AS_CONFIGURED ? null : input.whole(name)
    const change = { workers: limit('workers'), queue: limit('queue') }
    if (change.workers === undefined && change.queue === undefined) {
      throw input.wrong('Neither --workers nor --queue is given.')
    }
    const answer = await clientOf(input).post(pathOf(input.word(0)), change, sessionShape)
    output.answer(answer, () =>
      output.say(
        `${answer.session_id} makes ${answer.workers} calls at once, and may have ${answer.queue} open.`,
      ),
    )
    return undefined
  },
})
