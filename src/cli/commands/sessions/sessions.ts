import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'

/** As much of a session as is shown here; a newer server may say more. */
export const sessionShape = z.looseObject({
  session_id: z.string(),
  principal: z.string(),
  client: z.looseObject({ name: z.string().nullable(), version: z.string().nullable() }),
  instance: z.string(),
  state: z.string(),
  workers: z.number(),
  queue: z.number(),
  running: z.number(),
  waiting: z.number(),
  calls: z.number(),
  last_call_at: z.string(),
})

const listShape = z.looseObject({ sessions: z.array(sessionShape) })

export function pathOf(sessionId: string): string {
  return `/v1/sessions/${encodeURIComponent(sessionId)}`
}

export const sessions = command({
  name: 'sessions',
  summary: 'List the clients that call tools of MCP servers behind the gate, and how many calls they have.',
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const answer = await clientOf(input).get('/v1/sessions', {}, listShape)
    output.answer(answer, () => {
      if (answer.sessions.length === 0) return output.say('There are no sessions.')
      output.table(
        [
          'SESSION',
          'WHO',
          'CLIENT',
          'STATE',
          'RUNNING',
          'WAITING',
          'CALLS',
          'AT ONCE',
          'LAST CALL',
          'SERVER',
        ],
        answer.sessions.map((session) => [
          session.session_id,
          session.principal,
          [session.client.name, session.client.version].filter((part) => part !== null).join(' '),
          session.state,
          String(session.running),
          String(session.waiting),
          String(session.calls),
          String(session.workers),
          session.last_call_at,
          session.instance,
        ]),
      )
    })
    return undefined
  },
})
