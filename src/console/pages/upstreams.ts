import type { UpstreamView } from '../../features/upstreams/upstreams.ts'
import { place } from '../fields.ts'
import { type Content, type Html, html } from '../html.ts'
import { notice } from '../notices.ts'
import { empty, facts, heading } from '../parts.ts'
import type { Page } from '../reply.ts'
import { time } from '../time.ts'
import { line } from '../untrusted.ts'

interface UpstreamsView {
  /** Null: the gate has none and can have none. */
  readonly upstreams: readonly UpstreamView[] | null
  readonly query: URLSearchParams
  readonly now: number
}

/** Health changes without a task changing. */
export const UPSTREAM_POLL_SECONDS = 5

export function upstreamsPage({ upstreams, query, now }: UpstreamsView): Page {
  return {
    kind: 'page',
    title: 'Upstreams',
    place: 'upstreams',
    poll: UPSTREAM_POLL_SECONDS,
    body: html`${heading('Upstreams')}
${notice(query)}
<div data-live="list">${
      upstreams === null || upstreams.length === 0
        ? empty(
            'There are no upstreams.',
            html`An upstream is an MCP server behind the gate. Add one with <code>asyncgate upstreams add</code> or ASYNCGATE_UPSTREAMS_FILE.`,
          )
        : html`<ul class="cards">${upstreams.map((upstream) => card(upstream, now))}</ul>`
    }</div>`,
  }
}

function card(upstream: UpstreamView, now: number): Html {
  const { name, counts, health } = upstream
  return html`<li class="card"><div class="card-head"><h2><a href="${place('upstreams', name)}">${line(name, 60)}</a></h2>${upstreamState(upstream)}</div>
<p class="soft">${target(upstream)}</p>
<dl class="figures">
<div><dt>Tools</dt><dd>${counts.listed}</dd></div>
<div><dt>Quarantined</dt><dd${counts.quarantined > 0 && html` class="warn"`}>${counts.quarantined}</dd></div>
<div><dt>Running</dt><dd>${health.running} <span class="soft">of ${upstream.concurrency}</span></dd></div>
<div><dt>Restarts</dt><dd>${health.restarts}</dd></div>
</dl>
${healthFacts(upstream, now)}
${counts.quarantined > 0 && html`<a class="button" href="${place('upstreams', name)}">Review ${counts.quarantined} quarantined</a>`}
</li>`
}

export function upstreamState({ health }: UpstreamView): Html {
  return html`<span class="status upstream-${health.state}">${health.state}</span>`
}

export function target({ transport }: UpstreamView): Content {
  return transport.type === 'http'
    ? line(transport.url, 200)
    : html`program <code>${line(transport.command, 200)}</code>`
}

export function healthFacts({ health }: UpstreamView, now: number): Html {
  const { last_error } = health
  return facts([
    { name: 'Since', value: time(health.since, now) },
    {
      name: 'Breaker',
      value: html`<span class="breaker breaker-${health.breaker}">${health.breaker.replaceAll('_', ' ')}</span>${health.breaker === 'open' && ' (no calls are made for a while)'}`,
    },
    health.server !== null && { name: 'Server', value: line(health.server, 100) },
    last_error !== null && {
      name: 'Last error',
      value: html`${time(last_error.at, now)} <code>${line(last_error.code, 60)}</code> ${line(last_error.message, 300)}`,
    },
  ])
}
