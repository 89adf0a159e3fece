import { acceptUpstreamTool, getUpstream, listUpstreams } from '../../features/upstreams/operations.ts'
import type { UpstreamView } from '../../features/upstreams/upstreams.ts'
import { type Html, html } from '../../util/html.ts'
import { command, count, empty, heading, line, notice, table, tableRow } from '../components.ts'
import { itemPath } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import {
  errorCount,
  milliseconds,
  target,
  UPSTREAM_POLL_SECONDS,
  upstreamPage,
  upstreamState,
} from './upstream.ts'

export const upstreamRoutes = [
  page('/upstreams', showUpstreams),
  page('/upstreams/{name}', async (visit) =>
    upstreamPage(await visit.call(getUpstream, { name: visit.params.name }), visit),
  ),
  action('/upstreams/{name}/accept', async ({ call, params: { name = '' }, form }) => {
    await call(acceptUpstreamTool, { name, tool: form.get('tool') ?? '', hash: form.get('hash') ?? '' })
    return redirect(itemPath('upstreams', name), { notice: 'accepted' })
  }),
]

async function showUpstreams({ call, query }: Visit): Promise<Reply> {
  const { upstreams } = await unless('NOT_CONFIGURED', call(listUpstreams, {}), { upstreams: [] })
  return {
    title: 'Upstreams',
    section: 'upstreams',
    poll: UPSTREAM_POLL_SECONDS,
    body: html`${heading('Upstreams')}
${notice(query)}
<p class="soft">Calls, errors and durations are those through this server since it started.</p>
<div data-live="list">${
      upstreams.length === 0
        ? empty(
            'There are no upstreams.',
            html`An upstream is an MCP server behind the gateway. Add one, or list programs in ASYNCGATE_UPSTREAMS_FILE:${command('npx asyncgate upstreams add search https://search.example/mcp')}`,
          )
        : upstreamTable(upstreams)
    }</div>`,
  }
}

const COLUMNS = [
  { label: 'Upstream', kind: 'wide' },
  { label: 'State', kind: 'tight' },
  { label: 'Tools', kind: 'number' },
  { label: 'Quarantined', kind: 'number' },
  { label: 'Running', kind: 'number', isExtra: true },
  { label: 'Calls', kind: 'number' },
  { label: 'Errors', kind: 'number' },
  { label: 'Median', kind: 'number', isExtra: true },
  { label: 'p95', kind: 'number', isExtra: true },
] as const

function upstreamTable(upstreams: readonly UpstreamView[]): Html {
  const row = (upstream: UpstreamView) => {
    const { name, counts, health } = upstream
    const { calls, errors, median_ms, p95_ms } = health.traffic
    return tableRow(name, COLUMNS, [
      html`<a href="${itemPath('upstreams', name)}">${line(name, 60)}</a><span class="row-sub">${target(upstream)}</span>${health.last_error !== null && health.state === 'down' && html`<span class="row-sub warn">${line(health.last_error.message, 160)}</span>`}`,
      upstreamState(upstream),
      count(counts.listed),
      counts.quarantined > 0
        ? html`<a class="warn" href="${itemPath('upstreams', name)}">${count(counts.quarantined)}</a>`
        : '0',
      html`${health.running} <span class="soft">of ${upstream.concurrency}</span>`,
      count(calls),
      errorCount(errors),
      milliseconds(median_ms),
      milliseconds(p95_ms),
    ])
  }
  return table('Upstreams', COLUMNS, upstreams.map(row))
}
