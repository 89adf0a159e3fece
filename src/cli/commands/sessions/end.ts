import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { pathOf } from './sessions.ts'

const endedShape = z.looseObject({ session_id: z.string(), ended: z.boolean(), canceled: z.number() })

export const sessionsEnd = command({
  name: 'sessions end',
  summary: 'End a session. What it has left is still done, unless --cancel is given.',
  takes: ['SESSION_ID'],
  options: {
    cancel: { type: 'boolean', doc: 'cancel its calls, also those that are being made' },
    ...CLIENT_OPTIONS,
  },
  notes: () => 'Calls that wait for approval stay. A client that calls again has a session again.',
  async run(input, output) {
    const mode = input.flag('cancel') ? 'cancel' : 'run'
    const answer = await clientOf(input).post(`${pathOf(input.word(0))}/end`, { mode }, endedShape)
    output.answer(answer, () => {
      const how = answer.ended ? 'has ended' : 'is at another server, where it ends when it is idle'
      const calls = answer.canceled === 1 ? '1 call was' : `${answer.canceled} calls were`
      output.say(`${answer.session_id} ${how}; ${calls} canceled.`)
    })
    return undefined
  },
})
