import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import {
  ruledUpstreamShape,
  type UpstreamView,
  upstreamShape,
  upstreamToolShape,
} from '../features/upstreams/upstreams.ts'
import type { Desk } from './desk.ts'
import { link, place } from './fields.ts'
import { upstreamPage } from './pages/upstream.ts'
import { upstreamsPage } from './pages/upstreams.ts'
import { type ConsoleRoute, redirect } from './reply.ts'

const listShape = z.object({ upstreams: z.array(upstreamShape) })

export const upstreamRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/upstreams',
    async handle({ desk, query }) {
      return upstreamsPage({ upstreams: await upstreamsOf(desk), query, now: desk.now })
    },
  },
  {
    method: 'GET',
    path: '/upstreams/{name}',
    async handle({ desk, params: { name = '' }, query, token }) {
      const upstream = await desk.call('get_upstream', { name }, ruledUpstreamShape)
      return upstreamPage({ upstream, query, token, now: desk.now })
    },
  },
  {
    method: 'POST',
    path: '/upstreams/{name}/accept',
    async handle({ desk, params: { name = '' }, form }) {
      const input = { name, tool: form.get('tool') ?? '', hash: form.get('hash') ?? '' }
      await desk.call('accept_upstream_tool', input, upstreamToolShape)
      return redirect(link(place('upstreams', name), { notice: 'accepted' }))
    },
  },
]

/** Null: the gate was opened without. */
async function upstreamsOf(desk: Desk): Promise<readonly UpstreamView[] | null> {
  try {
    return (await desk.call('list_upstreams', {}, listShape)).upstreams
  } catch (error) {
    if (error instanceof Fault && error.code === 'NOT_CONFIGURED') return null
    throw error
  }
}
