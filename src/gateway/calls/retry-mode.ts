import { RETRY_MODES, type RetryMode, type UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'
import { matchesAny } from '../upstreams/tool-name.ts'

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
