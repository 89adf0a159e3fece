import { z } from 'zod'
import { DEPENDS_ON, OUTCOMES } from '../../../policy/forecast.ts'
import { visibleJson } from '../../../util/untrusted-text.ts'
import type { Output } from '../../output.ts'

/** As much of an upstream as is shown here; a newer server may say more. */
export const upstreamShape = z.looseObject({
  name: z.string(),
  source: z.string(),
  transport: z.looseObject({
    type: z.string(),
    url: z.string().optional(),
    command: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
  pinned: z.string(),
  tools: z.looseObject({ retry: z.record(z.string(), z.string()).default({}) }),
  retry: z.string().default('idempotent'),
  timeout_ms: z.number(),
  concurrency: z.number(),
  max_result_bytes: z.number(),
  isolation: z.string().default('shared'),
  max_session_connections: z.number().default(0),
  counts: z.looseObject({ listed: z.number(), quarantined: z.number(), hidden: z.number() }),
  /** An older server does not say. */
  offers: z
    .looseObject({ prompts: z.number(), resources: z.number(), resource_templates: z.number() })
    .optional(),
  health: z.looseObject({
    state: z.string(),
    since: z.string(),
    protocol_version: z.string().nullable(),
    server: z.string().nullable(),
    breaker: z.string(),
    restarts: z.number(),
    running: z.number(),
    waiting: z.number(),
    sessions: z.number().default(0),
    last_error: z.looseObject({ at: z.string(), message: z.string() }).nullable(),
  }),
})

const toolShape = z.looseObject({
  tool: z.string(),
  name: z.string(),
  status: z.string(),
  reason: z.string().nullable(),
  category: z.string().nullable(),
  runs_commands: z.boolean().default(false),
  hash: z.string().nullable(),
  offered: z.unknown(),
  accepted: z.unknown(),
  policy: z
    .looseObject({ outcome: z.enum(OUTCOMES), depends_on: z.array(z.enum(DEPENDS_ON)), reason: z.string() })
    .nullish(),
})

export const acceptedShape = z.looseObject({
  tool: z.string(),
  status: z.string(),
  reason: z.string().nullable(),
})
export const detailShape = upstreamShape.extend({ catalogue: z.array(toolShape) })
export const listShape = z.looseObject({ upstreams: z.array(upstreamShape) })

export type UpstreamInfo = z.output<typeof upstreamShape>
export type ToolInfo = z.output<typeof toolShape>

export function pathOf(name: string): string {
  return `/v1/upstreams/${encodeURIComponent(name)}`
}

/** Where it is. */
export function placeOf({ transport }: UpstreamInfo): string {
  return transport.url ?? transport.command ?? transport.type
}

function isolationOf({ isolation, max_session_connections, health }: UpstreamInfo): string {
  if (isolation === 'shared') return 'shared: all sessions use one connection'
  return `${isolation}: ${health.sessions} of at most ${max_session_connections} connections of sessions`
}

export function tellUpstream(output: Output, upstream: UpstreamInfo): void {
  const { health, transport } = upstream
  const lines: [string, string][] = [
    ['upstream', `${upstream.name} (${upstream.source})`],
    ['at', placeOf(upstream)],
    ...Object.entries(transport.headers ?? {}).map(([name, value]): [string, string] => [
      'header',
      `${name}: ${value}`,
    ]),
    ['state', `${health.state} since ${health.since}`],
    ['server', [health.server, health.protocol_version].filter((part) => part !== null).join(', MCP ')],
    ['breaker', health.breaker],
    ['calls', `${health.running} running, ${health.waiting} waiting, ${upstream.concurrency} at once`],
    ['limits', `${upstream.timeout_ms} ms, ${upstream.max_result_bytes} bytes`],
    ['offers', offersOf(upstream)],
    ['isolation', isolationOf(upstream)],
    ['restarts', String(health.restarts)],
    ['pinned', upstream.pinned],
    ['retry', retryLine(upstream)],
    ['error', health.last_error === null ? '' : `${health.last_error.at}: ${health.last_error.message}`],
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(10)} ${value}`)
}

/** What is repeated of it: the mode of the upstream, then those of single tools. */
function retryLine({ retry, tools }: UpstreamInfo): string {
  return [retry, ...Object.entries(tools.retry).map(([tool, mode]) => `${tool}: ${mode}`)].join(', ')
}

/** What it has besides tools, if anything. */
function offersOf({ offers }: UpstreamInfo): string {
  const { prompts = 0, resources = 0, resource_templates: templates = 0 } = offers ?? {}
  if (prompts + resources + templates === 0) return ''
  return `${prompts} prompts, ${resources} resources, ${templates} resource templates`
}

/** A definition as JSON; hidden characters are written as escapes. */
export function tellDefinition(output: Output, title: string, definition: unknown): void {
  if (definition === null || definition === undefined) return
  output.say(`${title}:`)
  output.say(visibleJson(definition))
}
