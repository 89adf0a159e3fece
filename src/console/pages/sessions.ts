import { endSession, listSessions, setSession } from '../../features/sessions/operations.ts'
import type { SessionView } from '../../features/sessions/sessions.ts'
import { type Html, html } from '../../util/html.ts'
import { count, empty, facts, form, heading, identifier, line, notice, time } from '../components.ts'
import { itemPath, link, numberIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'

const LIST = '/console/sessions'
const POLL_SECONDS = 3

export const sessionRoutes = [
  page('/sessions', showSessions),
  action('/sessions/{session_id}/end', async ({ call, params: { session_id }, form }) => {
    const { ended, canceled } = await call(endSession, { session_id, mode: textIn(form, 'mode') })
    return redirect(LIST, { notice: ended ? 'ended' : 'elsewhere', done: canceled })
  }),
  action('/sessions/{session_id}/limits', async ({ call, params: { session_id }, form }) => {
    const limit = (name: string) => numberIn(form, name) ?? null
    await call(setSession, { session_id, workers: limit('workers'), queue: limit('queue') })
    return redirect(LIST, { notice: 'saved' })
  }),
]

async function showSessions({ call, query, token, now }: Visit): Promise<Reply> {
  const found = await unless('NOT_CONFIGURED', call(listSessions, {}), undefined)
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
            'Sessions belong to calls of upstream tools. See docs/gateway.md for how to add an upstream.',
          )
        : found.sessions.length === 0
          ? empty('There are no sessions.', 'A session begins with the first call of an upstream tool.')
          : html`<ul class="cards">${found.sessions.map((session) => card(session, token, now))}</ul>`
    }</div>`,
  }
}

function card(session: SessionView, token: string, now: number): Html {
  const { session_id, client, workers, running, waiting, queue } = session
  const name = [client.name, client.version].filter((part) => part !== null).join(' ')
  const open = running + waiting
  return html`<li class="card"><div class="card-head"><h2>${line(session.principal, 80)}</h2><span class="status session-${session.state}">${session.state}</span></div>
<p class="soft">${name === '' ? 'unnamed client' : line(name, 100)}, on ${line(session.instance, 60)}</p>
<dl class="metrics">
<div><dt>Slots busy</dt><dd>${running} <span class="soft">of ${workers}</span></dd></div>
<div><dt>Waiting</dt><dd>${count(waiting)} <span class="soft">of ${count(queue)}</span></dd></div>
<div><dt>Calls</dt><dd>${count(session.calls)}</dd></div>
</dl>
<meter min="0" max="${workers}" value="${running}" aria-label="Slots busy">${running} of ${workers}</meter>
${facts([
  { name: 'Session', value: identifier(session_id) },
  { name: 'Started', value: time(session.began_at, now) },
  { name: 'Last call', value: time(session.last_call_at, now) },
])}
<div class="buttons"><a class="button" href="${link('/console/tasks', { session_id })}">Tasks</a>
<a class="button danger" href="${link('/console/tasks/cancel-all', { session_id })}">Cancel ${open === 0 ? 'all' : `all ${count(open)}`}…</a></div>
<details><summary>Limits</summary>${form(
    token,
    `${itemPath('sessions', session_id)}/limits`,
    html`<label for="w-${session_id}">Concurrent calls</label><input id="w-${session_id}" name="workers" type="number" min="1" max="100" value="${workers}">
<label for="q-${session_id}">Open calls</label><input id="q-${session_id}" name="queue" type="number" min="1" max="1000000" value="${queue}">
<p class="hint">Empty: the configured limit.</p><button class="button">Save limits</button>`,
  )}</details>
<details><summary>End session</summary>${form(
    token,
    `${itemPath('sessions', session_id)}/end`,
    html`<fieldset><legend>Open calls</legend>
<label class="choice"><input type="radio" name="mode" value="run" checked> continue</label>
<label class="choice"><input type="radio" name="mode" value="cancel"> are canceled, except for those that wait for approval</label></fieldset>
<button class="button danger">End session</button>`,
  )}</details></li>`
}
