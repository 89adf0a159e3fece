import { endSession, getSession, listSessions, setSession } from '../../features/sessions/operations.ts'
import type { SessionView } from '../../features/sessions/sessions.ts'
import { type Html, html } from '../../util/html.ts'
import { command, count, empty, heading, line, notice, pager, table, tableRow, time } from '../components.ts'
import { itemPath, link, numberIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import { clientName, sessionPage, sessionState, slots } from './session.ts'

const LIST = '/console/sessions'
const PAGE_SIZE = 100
const POLL_SECONDS = 3

export const sessionRoutes = [
  page('/sessions', showSessions),
  page('/sessions/{session_id}', async (visit) => ({
    ...sessionPage(await visit.call(getSession, { session_id: visit.params.session_id }), visit),
    poll: POLL_SECONDS,
  })),
  action('/sessions/{session_id}/end', async ({ call, params: { session_id }, form }) => {
    const { ended, canceled } = await call(endSession, { session_id, mode: textIn(form, 'mode') })
    return redirect(LIST, { notice: ended ? 'ended' : 'elsewhere', done: canceled })
  }),
  action('/sessions/{session_id}/limits', async ({ call, params: { session_id = '' }, form }) => {
    const limit = (name: string) => numberIn(form, name) ?? null
    await call(setSession, { session_id, workers: limit('workers'), queue: limit('queue') })
    return redirect(itemPath('sessions', session_id), { notice: 'saved' })
  }),
]

async function showSessions({ call, query, now }: Visit): Promise<Reply> {
  const cursor = textIn(query, 'cursor')
  const found = await unless('NOT_CONFIGURED', call(listSessions, { cursor, limit: PAGE_SIZE }), undefined)
  return {
    title: 'Sessions',
    section: 'sessions',
    poll: POLL_SECONDS,
    body: html`${heading('Sessions')}
${notice(query)}
<p class="soft">A session is one client that calls upstream tools for one principal. Its calls share a limited number of slots.</p>
<div data-live="list">${
      found === undefined
        ? empty(
            'There are no upstreams.',
            html`Sessions belong to calls of upstream tools. Start a gateway for an MCP server:${command('npx asyncgate gateway -- npx -y @modelcontextprotocol/server-filesystem .')}`,
          )
        : found.sessions.length === 0
          ? empty(
              'There are no sessions.',
              html`A session begins with the first call of an upstream tool. Connect an MCP client to this server:${command('npx asyncgate mcp add --client claude-code')}`,
            )
          : sessionTable(found.sessions, now)
    }</div>
${pager(
  cursor !== undefined && html`<a class="button" href="${LIST}">First page</a>`,
  found !== undefined &&
    found.next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { cursor: found.next_cursor })}">Next page</a>`,
)}`,
  }
}

const COLUMNS = [
  { label: 'Principal' },
  { label: 'State', kind: 'tight' },
  { label: 'Client', kind: 'wide', isExtra: true },
  { label: 'Slots busy', kind: 'tight' },
  { label: 'Waiting', kind: 'number' },
  { label: 'Calls', kind: 'number' },
  { label: 'Started', kind: 'tight', isExtra: true },
  { label: 'Last call', kind: 'tight' },
] as const

function sessionTable(sessions: readonly SessionView[], now: number): Html {
  const row = (session: SessionView) =>
    tableRow(session.session_id, COLUMNS, [
      html`<a href="${itemPath('sessions', session.session_id)}">${line(session.principal, 80)}</a>`,
      sessionState(session),
      clientName(session),
      slots(session),
      count(session.waiting),
      count(session.calls),
      time(session.began_at, now),
      time(session.last_call_at, now),
    ])
  return table('Sessions', COLUMNS, sessions.map(row))
}
