import type { z } from 'zod'
import { STATUSES } from '../../core/transitions.ts'
import type { countedSessionShape, SessionView } from '../../features/sessions/sessions.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { bothTimes, count, facts, form, heading, identifier, line, notice } from '../components.ts'
import { itemPath, link } from '../fields.ts'
import type { Page, Visit } from '../visit.ts'

type CountedSession = z.output<typeof countedSessionShape>

/** One session with its calls by status and its limits. */
export function sessionPage(session: CountedSession, visit: Visit): Page {
  const { query, now } = visit
  return {
    title: session.principal,
    section: 'sessions',
    body: html`<p class="crumbs"><a href="/console/sessions">Sessions</a></p>
<div data-live="session">
${heading(line(session.principal, 120), sessionState(session))}
${notice(query)}
</div>
${controls(session, visit)}
<div class="columns">
<section aria-labelledby="h-calls" data-live="calls"><h2 id="h-calls">Calls</h2>${callsOf(session)}</section>
<section aria-labelledby="h-facts" data-live="facts"><h2 id="h-facts">Facts</h2>${facts([
      { name: 'Client', value: clientName(session) },
      { name: 'Server', value: line(session.instance, 80) },
      { name: 'Started', value: bothTimes(session.began_at, now) },
      { name: 'Last call', value: bothTimes(session.last_call_at, now) },
      { name: 'Session', value: identifier(session.session_id) },
    ])}</section>
</div>`,
  }
}

export function sessionState({ state }: SessionView): Html {
  return html`<span class="status session-${state}">${state}</span>`
}

export function clientName({ client }: SessionView): Content {
  const name = [client.name, client.version].filter((part) => part !== null).join(' ')
  return name === '' ? html`<span class="soft">unnamed client</span>` : line(name, 100)
}

export function slots({ running, workers }: SessionView): Html {
  return html`<span class="share"><meter min="0" max="${workers}" value="${running}" aria-label="Slots busy"></meter> ${running} of ${workers}</span>`
}

function callsOf(session: CountedSession): Html {
  const { session_id, counts, waiting, queue } = session
  const ofStatus = STATUSES.filter((status) => counts[status] > 0)
  return facts([
    { name: 'Slots busy', value: slots(session) },
    { name: 'Waiting', value: html`${count(waiting)} <span class="soft">of ${count(queue)}</span>` },
    { name: 'Calls', value: count(session.calls) },
    ...ofStatus.map((status) => ({
      name: status.replaceAll('_', ' '),
      value: html`<a href="${link('/console/tasks', { session_id, status })}">${count(counts[status])}${counts.more && ' or more'}</a>`,
    })),
  ])
}

function controls(session: SessionView, { may, token }: Visit): Html {
  const { session_id, workers, queue, running, waiting } = session
  const open = running + waiting
  const path = itemPath('sessions', session_id)
  return html`<div class="actions" data-live="actions"><a class="button" href="${link('/console/tasks', { session_id })}">Tasks</a>
${may('cancel') && html`<a class="button danger" href="${link('/console/tasks/cancel-all', { session_id })}">Cancel ${open === 0 ? 'all' : `all ${count(open)}`}…</a>`}
${
  may('operate') &&
  html`<details class="panel"><summary class="button">Limits</summary>${form(
    token,
    `${path}/limits`,
    html`<label for="workers">Concurrent calls</label><input id="workers" name="workers" type="number" min="1" max="100" value="${workers}">
<label for="queue">Open calls</label><input id="queue" name="queue" type="number" min="1" max="1000000" value="${queue}">
<p class="hint">Empty: the configured limit.</p><button class="button primary">Save limits</button>`,
  )}</details>`
}
${
  may('cancel') &&
  html`<details class="panel"><summary class="button danger">End session</summary>${form(
    token,
    `${path}/end`,
    html`<fieldset><legend>Open calls</legend>
<label class="choice"><input type="radio" name="mode" value="run" checked> continue</label>
<label class="choice"><input type="radio" name="mode" value="cancel"> are canceled, except for those that wait for approval</label></fieldset>
<button class="button danger solid">End session</button>`,
  )}</details>`
}</div>`
}
