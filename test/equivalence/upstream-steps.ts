import type { Pin } from '../../src/gateway/upstreams/pins.ts'
import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const HASH = 'ab'.repeat(32)

/** The pin of an upstream tool that is stored before the scenario begins. */
export const SEEN: Pin = {
  upstream: 'wiki',
  tool: 'search',
  accepted: null,
  offered: { hash: HASH, definition: { name: 'search', inputSchema: { type: 'object' } }, at: 0 },
}

const WIKI = {
  ...ROOT,
  name: 'wiki',
  transport: { type: 'http', url: 'https://wiki.example/mcp?space=1' },
  enabled: false,
  categories: { search: 'reading' },
}
const SEARCH = { ...ROOT, name: 'wiki', tool: 'search', hash: HASH }

/** Admins add an upstream. It is disabled, so no connection is made. */
export const upstreamSteps: readonly Step[] = [
  ok('list_upstreams', ROOT, { upstreams: [] }),
  no('list_upstreams', BOB, 'FORBIDDEN'),
  no('accept_upstream_tool', SEARCH, 'UPSTREAM_NOT_FOUND'),
  ok('add_upstream', WIKI, {
    name: 'wiki',
    source: 'api',
    transport: { url: 'https://wiki.example/mcp?space=***' },
    updated_by: 'human:root',
    health: { state: 'disabled' },
  }),
  no('add_upstream', { ...WIKI, ...BOB, principal_kind: 'agent' }, 'FORBIDDEN'),
  no('add_upstream', { ...WIKI, transport: { type: 'http', url: 'https://127.0.0.1/' } }, 'VALIDATION_ERROR'),
  no('add_upstream', { ...WIKI, transport: { type: 'stdio', command: 'sh' } }, 'VALIDATION_ERROR'),
  ok('list_upstreams', ROOT, { upstreams: [{ name: 'wiki', counts: { quarantined: 1, listed: 0 } }] }),
  ok('list_upstreams', { ...ROOT, cursor: 'wiki' }, { upstreams: [], next_cursor: null }),
  ok(
    'get_upstream',
    { ...ROOT, name: 'wiki' },
    { catalogue: [{ name: 'wiki__search', status: 'quarantined', category: 'reading', hash: HASH }] },
  ),
  no('get_upstream', { ...ROOT, name: 'wicki' }, 'UPSTREAM_NOT_FOUND'),
  no('accept_upstream_tool', { ...SEARCH, hash: 'cd'.repeat(32) }, 'VALIDATION_ERROR'),
  no('accept_upstream_tool', { ...SEARCH, tool: 'find' }, 'UPSTREAM_TOOL_NOT_FOUND'),
  ok('accept_upstream_tool', SEARCH, { tool: 'search', accepted_hash: HASH, accepted_by: 'human:root' }),
  no('remove_upstream', { ...BOB, name: 'wiki' }, 'FORBIDDEN'),
  ok('remove_upstream', { ...ROOT, name: 'wiki' }, { name: 'wiki', removed: true }),
  ok('remove_upstream', { ...ROOT, name: 'wiki' }, { removed: false }),
]
