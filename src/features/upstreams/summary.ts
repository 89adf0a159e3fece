import { z } from 'zod'
import { cleanLine } from '../../util/untrusted-text.ts'
import { nextCursor } from '../input.ts'
import { age, summaryView } from '../summary.ts'
import type { UpstreamView } from './upstreams.ts'

const MAX_ADDRESS = 80
const MAX_ERROR = 120

const rowShape = z.object({
  name: z.string().describe('Name of the upstream'),
  at: z.string().describe('URL or program of the MCP server; cut if it is long'),
  state: z.string().describe('State of the connection: disabled, connecting, ready or down, and since when'),
  breaker: z.string().optional().describe('Present if calls are refused: open or half_open'),
  tools: z.int().describe('Number of tools that clients can call'),
  quarantined: z.int().optional().describe('Number of tools whose definition an admin has to accept first'),
  running: z.int().describe('Calls in progress'),
  error: z.string().optional().describe('The most recent error and its age'),
})

export const upstreamListSummary = summaryView({
  shape: z.object({ upstreams: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { upstreams: readonly UpstreamView[]; next_cursor: string | null }, now) => ({
    upstreams: page.upstreams.map(({ name, transport, counts, health }) => ({
      name,
      at: cleanLine(transport.type === 'http' ? transport.url : transport.command, MAX_ADDRESS),
      state: `${health.state} ${age(health.since, now)}`,
      ...(health.breaker !== 'closed' && { breaker: health.breaker }),
      tools: counts.listed,
      ...(counts.quarantined > 0 && { quarantined: counts.quarantined }),
      running: health.running,
      ...(health.last_error !== null && {
        error: `${age(health.last_error.at, now)} ago: ${cleanLine(health.last_error.message, MAX_ERROR)}`,
      }),
    })),
    next_cursor: page.next_cursor,
  }),
})
