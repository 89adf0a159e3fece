import { acceptUpstreamTool, getUpstream, listUpstreams } from '../../features/upstreams/operations.ts'
import type { UpstreamView } from '../../features/upstreams/upstreams.ts'
import { type Html, html } from '../../util/html.ts'
import { empty, heading, line, notice } from '../components.ts'
import { itemPath } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import { healthFacts, target, UPSTREAM_POLL_SECONDS, upstreamPage, upstreamState } from './upstream.ts'

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

async function showUpstreams({ call, query, now }: Visit): Promise<Reply> {
  const { upstreams } = await unless('NOT_CONFIGURED', call(listUpstreams, {}), { upstreams: [] })
  return {
    title: 'Upstreams',
    section: 'upstreams',
    poll: UPSTREAM_POLL_SECONDS,
    body: html`${heading('Upstreams')}
${notice(query)}
<div data-live="list">${
      upstreams.length === 0
        ? empty(
            'There are no upstreams.',
            html`An upstream is an MCP server behind the gateway. Add one with <code>asyncgate upstreams add</code> or ASYNCGATE_UPSTREAMS_FILE.`,
          )
        : html`<ul class="cards">${upstreams.map((upstream) => card(upstream, now))}</ul>`
    }</div>`,
  }
}

function card(upstream: UpstreamView, now: number): Html {
  const { name, counts, health } = upstream
  return html`<li class="card"><div class="card-head"><h2><a href="${itemPath('upstreams', name)}">${line(name, 60)}</a></h2>${upstreamState(upstream)}</div>
<p class="soft">${target(upstream)}</p>
<dl class="metrics">
<div><dt>Tools</dt><dd>${counts.listed}</dd></div>
<div><dt>Quarantined</dt><dd${counts.quarantined > 0 && html` class="warn"`}>${counts.quarantined}</dd></div>
<div><dt>Running</dt><dd>${health.running} <span class="soft">of ${upstream.concurrency}</span></dd></div>
<div><dt>Restarts</dt><dd>${health.restarts}</dd></div>
</dl>
${healthFacts(upstream, now)}
${counts.quarantined > 0 && html`<a class="button" href="${itemPath('upstreams', name)}">Review ${counts.quarantined} quarantined</a>`}
</li>`
}
