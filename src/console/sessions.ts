import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { endedSessionShape, type SessionView, sessionShape } from '../features/sessions/sessions.ts'
import type { Desk } from './desk.ts'
import { link, numberIn, textIn } from './fields.ts'
import { sessionsPage } from './pages/sessions.ts'
import { type ConsoleRoute, redirect } from './reply.ts'

const listShape = z.object({ sessions: z.array(sessionShape) })

export const sessionRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/sessions',
    async handle({ desk, query, token }) {
      return sessionsPage({ sessions: await sessionsOf(desk), query, token, now: desk.now })
    },
  },
  {
    method: 'POST',
    path: '/sessions/{session_id}/end',
    async handle({ desk, params: { session_id = '' }, form }) {
      const input = { session_id, mode: textIn(form, 'mode') }
      const { ended, canceled } = await desk.call('end_session', input, endedSessionShape)
      return redirect(link('/console/sessions', { notice: ended ? 'ended' : 'elsewhere', done: canceled }))
    },
  },
  {
    method: 'POST',
    path: '/sessions/{session_id}/limits',
    async handle({ desk, params: { session_id = '' }, form }) {
      const limit = (name: string) => numberIn(form, name) ?? null
      await desk.call(
        'set_session',
        { session_id, workers: limit('workers'), queue: limit('queue') },
        sessionShape,
      )
      return redirect(link('/console/sessions', { notice: 'saved' }))
    },
  },
]

/** Null: there are no upstreams here, and so no sessions. */
async function sessionsOf(desk: Desk): Promise<readonly SessionView[] | null> {
  try {
    return (await desk.call('list_sessions', {}, listShape)).sessions
  } catch (error) {
    if (error instanceof Fault && error.code === 'NOT_CONFIGURED') return null
    throw error
  }
}
