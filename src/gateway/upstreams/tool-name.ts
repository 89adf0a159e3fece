import { createHash } from 'node:crypto'
import { RETRY_MODES, type RetryMode, type UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'

/** Long enough for every tool of a careful server, and what MCP clients take. */
const MAX_NAME = 128
const FITTING = /^[A-Za-z0-9_-]+$/
const HASH_CHARACTERS = 10

/** Between the name of an upstream and that of its tool. */
export const SEPARATOR = '__'

/**
 * What clients call a tool of an upstream. An upstream's name has no underscore, so the first two of them end it, and
 * nothing of ours has two. A tool whose own name does not fit gets one that ends in a hash: the same each time.
 */
export function outwardName(upstream: string, tool: string): string {
  const prefix = upstream + SEPARATOR
  const room = MAX_NAME - prefix.length
  if (FITTING.test(tool) && tool.length <= room) return prefix + tool
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARACTERS)
  const readable = tool.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, room - HASH_CHARACTERS - 1)
  return `${prefix}${readable}_${hash}`
}

/** Whether a name fits one of the patterns, in which `*` stands for any text. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(name, pattern))
}

function matches(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === pattern
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let from = first.length
  for (const part of rest) {
    const at = name.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return from <= name.length - last.length
}

type Rules = Pick<UpstreamRecord, 'retry' | 'tools'>

/** The retry mode of a tool: the most careful of those whose patterns match it, else that of its upstream. */
export function retryMode({ retry, tools }: Rules, tool: string): RetryMode {
  const matching = new Set(
    Object.entries(tools.retry).flatMap(([pattern, mode]) => (matchesAny(tool, [pattern]) ? [mode] : [])),
  )
  return RETRY_MODES.find((mode) => matching.has(mode)) ?? retry
}

/** Whether a call that may have reached its tool may be sent again. A tool that says nothing may not be repeated. */
export function mayRepeat(rules: Rules, tool: string, annotations: UpstreamTool['annotations']): boolean {
  switch (retryMode(rules, tool)) {
    case 'never':
      return false
    case 'always':
      return true
    case 'idempotent':
      return annotations?.readOnlyHint === true || annotations?.idempotentHint === true
  }
}
