import {
  outcomeWords,
  type RuledTool,
  type RuledUpstream,
  type UpstreamToolView,
  type UpstreamView,
} from '../../features/upstreams/upstreams.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import {
  block,
  count,
  empty,
  facts,
  form,
  heading,
  hidden,
  identifier,
  jsonBlock,
  line,
  notice,
  seconds,
  table,
  tableRow,
  time,
} from '../components.ts'
import { itemPath } from '../fields.ts'
import { alignLines, type LinePair } from '../line-diff.ts'
import type { Page, Visit } from '../visit.ts'

/** Events announce changes of tasks, not of the health of upstreams. */
export const UPSTREAM_POLL_SECONDS = 5

export function upstreamPage(upstream: RuledUpstream, visit: Visit): Page {
  const { query, now } = visit
  const { name, catalogue, health } = upstream
  const quarantined = catalogue.filter(({ status }) => status === 'quarantined')
  const others = catalogue.filter(({ status }) => status !== 'quarantined')
  return {
    title: name,
    section: 'upstreams',
    poll: UPSTREAM_POLL_SECONDS,
    body: html`<p class="crumbs"><a href="/console/upstreams">Upstreams</a></p>
<div data-live="health">
${heading(line(name, 60), upstreamState(upstream))}
<p class="soft">${target(upstream)}</p>
${notice(query)}
<section class="card" aria-label="Health">
<dl class="metrics">
<div><dt>Running</dt><dd>${health.running} <span class="soft">of ${upstream.concurrency}</span></dd></div>
<div><dt>Waiting</dt><dd>${health.waiting}</dd></div>
<div><dt>Calls</dt><dd>${count(health.traffic.calls)}</dd></div>
<div><dt>Errors</dt><dd>${errorCount(health.traffic.errors)}</dd></div>
<div><dt>Median</dt><dd>${milliseconds(health.traffic.median_ms)}</dd></div>
<div><dt>p95</dt><dd>${milliseconds(health.traffic.p95_ms)}</dd></div>
<div><dt>Restarts</dt><dd>${health.restarts}</dd></div>
</dl>
${healthFacts(upstream, now)}
${facts([
  { name: 'From', value: upstream.source === 'file' ? "the operator's file" : 'the API' },
  {
    name: 'Protocol',
    value: health.protocol_version === null ? 'unknown' : line(health.protocol_version),
  },
  { name: 'Timeout', value: `${upstream.timeout_ms / 1000} s` },
  {
    name: 'Isolation',
    value:
      upstream.isolation === 'shared'
        ? 'shared: all sessions use one connection'
        : `per session: ${health.sessions} of at most ${upstream.max_session_connections} connections`,
  },
])}
</section>
</div>
${
  quarantined.length > 0 &&
  html`<section aria-labelledby="h-quarantine"><h2 id="h-quarantine">Quarantined</h2>
<p>These tools are not listed and cannot be called until an admin accepts their definitions. Read them carefully: models will.</p>
${quarantined.map((tool) => waiting(name, tool, quarantined.length <= 3, visit))}</section>`
}
<section aria-labelledby="h-tools" data-live="tools"><h2 id="h-tools">Tools</h2>
${others.length === 0 ? empty('There are no tools.', quarantined.length > 0 ? 'All of them are quarantined.' : 'They are listed when the upstream is connected.') : toolTable(others)}
</section>`,
  }
}

const COLUMNS = [
  { label: 'Tool' },
  { label: 'A call is', kind: 'tight' },
  { label: 'Category', kind: 'tight', isExtra: true },
  { label: 'Description', kind: 'wide', isExtra: true },
] as const

/** What clients call the tools, and what the rules decide about a call. */
function toolTable(tools: readonly RuledTool[]): Html {
  const row = ({ tool, name, status, reason, category, description, policy }: RuledTool) =>
    tableRow(tool, COLUMNS, [
      html`<code>${line(name, 200)}</code>${status === 'hidden' && html` <span class="status upstream-disabled">hidden</span>`}${!name.endsWith(`__${tool}`) && tool !== name && html`<span class="row-sub">as ${line(tool, 200)}</span>`}`,
      policy !== null && html`<span class="status outcome-${policy.outcome}">${outcomeWords(policy)}</span>`,
      category !== null && html`<span class="chip">${line(category, 64)}</span>`,
      html`${line(description, 120)}${reason !== null && html`<span class="row-sub">${line(reason, 300)}</span>`}${policy !== null && decision(policy)}`,
    ])
  return table('Tools', COLUMNS, tools.map(row))
}

function decision({ rule_id, reason }: NonNullable<RuledTool['policy']>): Html {
  const rule = rule_id !== null && html` <a href="${itemPath('policies/rules', rule_id)}">Show the rule</a>`
  return html`<span class="row-sub">${line(reason, 300)}${rule}</span>`
}

export function errorCount(errors: number): Content {
  return errors === 0 ? '0' : html`<span class="warn">${count(errors)}</span>`
}

/** A duration; empty before the first call. */
export function milliseconds(ms: number | null): Content {
  if (ms === null) return html`<span class="soft">–</span>`
  return ms < 1000 ? `${ms} ms` : seconds(ms / 1000)
}

function waiting(upstream: string, tool: UpstreamToolView, isOpen: boolean, { token, may }: Visit): Html {
  const { hash, reason, accepted } = tool
  return html`<details class="card quarantine"${(isOpen || accepted !== null) && html` open`}>
<summary><code>${line(tool.tool, 200)}</code>${reason !== null && html` <span class="soft">${line(reason, 200)}</span>`}</summary>
${tool.offered === null ? html`<p>The definition is no longer available.</p>` : accepted === null ? jsonBlock(tool.offered, 'Offered definition') : sideBySide(accepted, tool.offered)}
${
  hash !== null &&
  html`<p class="soft">Hash ${identifier(hash)}</p>${
    may('manage') &&
    form(
      token,
      `${itemPath('upstreams', upstream)}/accept`,
      html`${hidden({ tool: tool.tool, hash })}<button class="button primary">Accept this definition</button>`,
    )
  }`
}
</details>`
}

const MAX_LINE = 4000

function sideBySide(before: unknown, after: unknown): Html {
  const pairs = alignLines(visibleJson(before), visibleJson(after))
  const cell = (text: string | undefined, isChanged: boolean, kind: 'gone' | 'new') =>
    html`<td${isChanged && text !== undefined && html` class="${kind}"`}>${text !== undefined && html`<pre>${isChanged && html`<span class="quiet">${kind === 'gone' ? 'removed: ' : 'added: '}</span>`}${block(text, MAX_LINE)}</pre>`}</td>`
  const row = (pair: LinePair) => {
    const isChanged = pair.before !== pair.after
    return html`<tr>${cell(pair.before, isChanged, 'gone')}${cell(pair.after, isChanged, 'new')}</tr>`
  }
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Accepted and offered definition"><table class="side-by-side"><thead><tr><th scope="col">Accepted before</th><th scope="col">Offered now</th></tr></thead><tbody>${pairs.map(row)}</tbody></table></div>`
}

export function upstreamState({ health }: UpstreamView): Html {
  return html`<span class="status upstream-${health.state}">${health.state}</span>`
}

export function target({ transport }: UpstreamView): Content {
  return transport.type === 'http'
    ? line(transport.url, 200)
    : html`program <code>${line(transport.command, 200)}</code>`
}

function healthFacts({ health }: UpstreamView, now: number): Html {
  const { last_error } = health
  return facts([
    { name: 'Since', value: time(health.since, now) },
    {
      name: 'Breaker',
      value: html`<span class="breaker breaker-${health.breaker}">${health.breaker.replaceAll('_', ' ')}</span>${health.breaker === 'open' && ' (calls are paused)'}`,
    },
    health.server !== null && { name: 'Server', value: line(health.server, 100) },
    last_error !== null && {
      name: 'Last error',
      value: html`${time(last_error.at, now)} <code>${line(last_error.code, 60)}</code> ${line(last_error.message, 300)}`,
    },
  ])
}
