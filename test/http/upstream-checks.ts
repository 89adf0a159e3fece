import { expect } from 'vitest'
import { pinEntry } from '../../src/gateway/upstreams/pins.ts'
import type { Store } from '../../src/store/store.ts'
import { registryOn } from '../gateway/upstreams/support.ts'
import { ROOT, type Served } from './support.ts'

export const WIKI = {
  name: 'wiki',
  transport: { type: 'http', url: 'https://wiki.example/mcp' },
  enabled: false,
}
const HASH = 'ab'.repeat(32)

const add = ({ post }: Served) => post('/v1/upstreams', { ...ROOT, ...WIKI })

/** The registry of a served gate, in which a tool is quarantined. */
export async function openUpstreams(store: Store) {
  const { tenant } = await store.tenant('default')
  const offered = { hash: HASH, definition: { name: 'a/b', inputSchema: { type: 'object' } }, at: 0 }
  await store.entries.put(pinEntry(tenant, { upstream: 'wiki', tool: 'a/b', accepted: null, offered }))
  return registryOn(store)
}

/** The operations on upstreams. */
export const upstreamChecks = {
  async add_upstream(served: Served) {
    const answer = await add(served)
    expect(answer).toMatchObject({ status: 200, body: { ...WIKI, source: 'api', pinned: 'first_use' } })
    expect(answer.body.health).toMatchObject({ state: 'disabled', breaker: 'closed' })
  },

  async list_upstreams(served: Served) {
    await add(served)
    const answer = await served.get('/v1/upstreams', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { upstreams: [{ name: 'wiki' }] } })
  },

  async get_upstream(served: Served) {
    await add(served)
    const answer = await served.get('/v1/upstreams/wiki', ROOT)
    const catalogue = [{ tool: 'a/b', status: 'quarantined', hash: HASH }]
    expect(answer).toMatchObject({ status: 200, body: { name: 'wiki', catalogue } })
  },

  async accept_upstream_tool(served: Served) {
    await add(served)
    const answer = await served.post('/v1/upstreams/wiki/accept', { ...ROOT, tool: 'a/b', hash: HASH })
    expect(answer).toMatchObject({ status: 200, body: { tool: 'a/b', accepted_hash: HASH, offered: null } })
  },

  async remove_upstream(served: Served) {
    await add(served)
    const answer = await served.post('/v1/upstreams/wiki/remove', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { name: 'wiki', removed: true } })
  },
}
