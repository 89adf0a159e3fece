import { z } from 'zod'
import { cleanLine } from '../../util/untrusted-text.ts'
import { nextCursor } from '../input.ts'
import { age, summaryView } from '../summary.ts'
import type { SessionView } from './sessions.ts'

const MAX_CLIENT = 60

const rowShape = z.object({
  session_id: z.string().describe('Id of the session'),
  principal: z.string().describe('The principal that the session belongs to, as kind:id'),
  client: z.string().optional().describe('Name and version of the client program'),
  state: z.enum(['live', 'ending']).describe('live: accepts calls; ending: only completes its open calls'),
  running: z.int().describe('Calls in progress'),
  waiting: z.int().describe('Calls that wait for a worker, for another attempt or for approval'),
  calls: z.int().describe('Number of calls since the session began'),
  last_call: z.string().describe('Time since the last call, such as 3m'),
})

export const sessionListSummary = summaryView({
  shape: z.object({ sessions: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { sessions: readonly SessionView[]; next_cursor: string | null }, now) => ({
    sessions: page.sessions.map(({ client: { name, version }, ...session }) => ({
      session_id: session.session_id,
      principal: session.principal,
      ...(name !== null && { client: cleanLine(`${name} ${version ?? ''}`, MAX_CLIENT) }),
      state: session.state,
      running: session.running,
      waiting: session.waiting,
      calls: session.calls,
      last_call: age(session.last_call_at, now),
    })),
    next_cursor: page.next_cursor,
  }),
})
