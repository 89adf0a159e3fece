import type { SessionView } from '../../features/sessions/sessions.ts'
import { link, place } from '../fields.ts'
import { type Html, html } from '../html.ts'
import { notice } from '../notices.ts'
import { empty, facts, form, heading, identifier } from '../parts.ts'
import type { Page } from '../reply.ts'
import { time } from '../time.ts'
import { count, line } from '../untrusted.ts'

interface SessionsView {
  /** Null: the gate has no upstreams. */
  readonly sessions: readonly SessionView[] | null
  readonly query: URLSearchParams
  readonly token: string
  readonly now: number
}

const POLL_SECONDS = 3

export function sessionsPage({ sessions, query, token, now }: SessionsView): Page {
  return {
    kind: 'page',
    title: 'Sessions',
    place: 'sessions',
    poll: POLL_SECONDS,
    body: html`${heading('Sessions')}
${notice(query)}
<p class="soft">A session is one client that calls tools of upstreams for one principal. Its calls take turns in its slots.</p>
<div data-live="list">${
      sessions === null
        ? empty(
            'There are no upstreams here.',
            'Sessions belong to calls of upstream tools: docs/gateway.md says how to add one.',
          )
        : sessions.length === 0
          ? empty('Nobody is here.', 'A session begins with the first call of an upstream tool.')
          : html`<ul class="cards">${sessions.map((session) => card(session, token, now))}</ul>`
    }</div>`,
  }
}

function card(session: SessionView, token: string, now: number): Html {
  const { session_id, client, workers, running, waiting, queue } = session
  const name = [client.name, client.version].filter((part) => part !== null).join(' ')
  const open = running + waiting
  return html`<li class="card"><div class="card-head"><h2>${line(session.principal, 80)}</h2><span class="status session-${session.state}">${session.state}</span></div>
<p class="soft">${name === '' ? 'a client without a name' : line(name, 100)}, on ${line(session.instance, 60)}</p>
<dl class="figures">
<div><dt>Slots busy</dt><dd>${running} <span class="soft">of ${workers}</span></dd></div>
<div><dt>Waiting</dt><dd>${count(waiting)} <span class="soft">of ${count(queue)}</span></dd></div>
<div><dt>Calls</dt><dd>${count(session.calls)}</dd></div>
</dl>
<meter min="0" max="${workers}" value="${running}" aria-label="Slots busy">${running} of ${workers}</meter>
${facts([
  { name: 'Session', value: identifier(session_id) },
  { name: 'Began', value: time(session.began_at, now) },
  { name: 'Last call', value: time(session.last_call_at, now) },
])}
<div class="buttons"><a class="button" href="${link('/console/tasks', { session_id })}">Its tasks</a>
<a class="button danger" href="${link('/console/tasks/cancel-all', { session_id })}">Cancel ${open === 0 ? 'all' : `all ${count(open)}`}…</a></div>
<details><summary>Limits</summary>${form(
    token,
    `${place('sessions', session_id)}/limits`,
    html`<label for="w-${session_id}">Calls at once</label><input id="w-${session_id}" name="workers" type="number" min="1" max="100" value="${workers}">
<label for="q-${session_id}">Open calls</label><input id="q-${session_id}" name="queue" type="number" min="1" max="1000000" value="${queue}">
<p class="hint">Empty: as configured.</p><button class="button">Save limits</button>`,
  )}</details>
<details><summary>End session</summary>${form(
    token,
    `${place('sessions', session_id)}/end`,
    html`<fieldset><legend>Its open calls</legend>
<label class="choice"><input type="radio" name="mode" value="run" checked> are still made</label>
<label class="choice"><input type="radio" name="mode" value="cancel"> are canceled, but for those that wait for approval</label></fieldset>
<button class="button danger">End session</button>`,
  )}</details></li>`
}
