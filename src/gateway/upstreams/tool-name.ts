import { createHash } from 'node:crypto'
import { RETRY_MODES, type RetryMode, type UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'

/** The limit of several model APIs. */
const MAX_NAME = 64
const FITTING = /^[A-Za-z0-9_-]+$/
const HASH_CHARACTERS = 10

/** Separates the name of an upstream from the name of its tool. */
export const SEPARATOR = '__'

/**
 * The name of an upstream tool for clients. Names of upstreams contain no underscore, so the first `__` ends them. A
 * name that does not fit is shortened and ends in a hash.
 */
export function outwardName(upstream: string, tool: string): string {
  const prefix = upstream + SEPARATOR
  const room = MAX_NAME - prefix.length
  if (FITTING.test(tool) && tool.length <= room) return prefix + tool
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARACTERS)
  const readable = tool.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, room - HASH_CHARACTERS - 1)
  return `${prefix}${readable}_${hash}`
}

/** Whether a name matches one of the patterns, in which `*` matches any text. */
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

/** The most careful retry mode whose pattern matches the tool, or the mode of its upstream. */
export function retryMode({ retry, tools }: Rules, tool: string): RetryMode {
  const matching = new Set(
    Object.entries(tools.retry).flatMap(([pattern, mode]) => (matchesAny(tool, [pattern]) ? [mode] : [])),
  )
  return RETRY_MODES.find((mode) => matching.has(mode)) ?? retry
}

/** Whether a call that may have reached its tool may be repeated. Without a hint it may not. */
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
