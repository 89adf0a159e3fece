import { isObject } from '../util/guards.ts'
import type { CanonicalJson, Json, JsonObject } from './json/json.ts'

/** Where a result is, as a worker or the gate itself has put it. What the worker did not say is null. */
export interface Artifact {
  /** `channel:data`, opaque to all but the channel. */
  readonly pointer: string
  readonly channel: string
  /** SHA-256 in hex. */
  readonly checksum: string | null
  readonly size: number | null
  readonly media_type: string | null
}

/** Begins a pointer to what a task itself carries. */
export const CARRIED = 'inline://task/'

/** The artifacts that have a pointer, in their order. */
export function pointersIn(artifacts: Json): Artifact[] {
  const list = isList(artifacts) ? artifacts : [artifacts]
  return list.flatMap((item) => {
    const artifact = isObject(item) ? artifactOf(item) : undefined
    return artifact === undefined ? [] : [artifact]
  })
}

const CHANNEL = /^[a-z][a-z0-9]{0,63}$/
const SHA256 = /^(?:sha256:)?([0-9a-f]{64})$/i

/** A pointer may be given without the name of its channel if `channel` says it. */
function artifactOf({ pointer, channel, checksum, size, media_type }: JsonObject): Artifact | undefined {
  if (typeof pointer !== 'string' || pointer === '') return undefined
  const [prefix = ''] = pointer.split(':', 1)
  const named = typeof channel === 'string' ? channel : prefix
  if (!CHANNEL.test(named)) return undefined
  const [, sum] = typeof checksum === 'string' ? (SHA256.exec(checksum) ?? []) : []
  return {
    pointer: pointer.startsWith(`${named}:`) || named === prefix ? pointer : `${named}:${pointer}`,
    channel: named,
    checksum: sum?.toLowerCase() ?? null,
    size: typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : null,
    media_type: typeof media_type === 'string' && media_type !== '' ? media_type : null,
  }
}

/**
 * Whether the result of a task only says where it is: it is one of the artifacts, word for word. Asked of every
 * completion, so nothing is parsed.
 */
export function isPointer(result: CanonicalJson | null, artifacts: CanonicalJson | null): boolean {
  if (result === null || artifacts === null || result.length > artifacts.length) return false
  return result.startsWith('{') && result.includes('"pointer":"') && artifacts.includes(result)
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
