import { isoTime } from '../../core/time.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamDetail, UpstreamView } from '../../features/upstreams/upstreams.ts'
import type { StoredRecord } from './registry-copy.ts'
import type { Upstream } from './upstream.ts'

/** An upstream as admins see it. `stored` is undefined for an upstream of the operator's file. */
export function viewOf(upstream: Upstream, stored: StoredRecord | undefined): UpstreamView {
  const { record, health, catalogue, offers } = upstream
  const { transport, ...rest } = record
  const statuses = [...catalogue.values()].map(({ view }) => view.status)
  const count = (status: string) => statuses.filter((each) => each === status).length
  return {
    ...rest,
    source: stored === undefined ? 'file' : 'api',
    transport: shownTransport(transport),
    updated_at: stored === undefined ? null : isoTime(stored.updated_at),
    updated_by: stored?.updated_by ?? null,
    counts: { listed: count('listed'), quarantined: count('quarantined'), hidden: count('hidden') },
    offers: {
      prompts: offers.prompts.length,
      resources: offers.resources.length,
      resource_templates: offers.templates.length,
    },
    health,
  }
}

export function detailOf(upstream: Upstream, stored: StoredRecord | undefined): UpstreamDetail {
  const catalogue = [...upstream.catalogue.values()].map(({ view }) => view)
  return {
    ...viewOf(upstream, stored),
    catalogue: catalogue.sort((a, b) => (a.tool < b.tool ? -1 : 1)),
  }
}

/** Shows references, but not arguments, variables and query values, which may contain secrets. */
function shownTransport(transport: UpstreamRecord['transport']): UpstreamView['transport'] {
  if (transport.type === 'stdio') return { type: 'stdio', command: transport.command }
  const url = new URL(transport.url)
  for (const name of new Set(url.searchParams.keys())) url.searchParams.set(name, '***')
  return { type: 'http', url: url.href, headers: transport.headers }
}
