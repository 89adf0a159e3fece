import { z } from 'zod'
import type { Output } from './output.ts'

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
  timeout_ms: z.number(),
  concurrency: z.number(),
  max_result_bytes: z.number(),
  counts: z.looseObject({ listed: z.number(), quarantined: z.number(), hidden: z.number() }),
  health: z.looseObject({
    state: z.string(),
    since: z.string(),
    protocol_version: z.string().nullable(),
    server: z.string().nullable(),
    breaker: z.string(),
    restarts: z.number(),
    running: z.number(),
    waiting: z.number(),
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
    ['restarts', String(health.restarts)],
    ['pinned', upstream.pinned],
    ['error', health.last_error === null ? '' : `${health.last_error.at}: ${health.last_error.message}`],
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(10)} ${value}`)
}

/** A definition as JSON in which nothing is hidden: what does not show is written as its code. */
export function tellDefinition(output: Output, title: string, definition: unknown): void {
  if (definition === null || definition === undefined) return
  const text = JSON.stringify(definition, null, 2)
  output.say(`${title}:`)
  output.say(
    text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Mn}]/gu, (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`),
  )
}
