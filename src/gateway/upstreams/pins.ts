import type { PrincipalKey } from '../../core/principal.ts'
import type { Entry, EntryDraft } from '../../store/entries.ts'
import type { Definition } from './definition.ts'

export const PIN_KIND = 'upstream_tool'

/** The accepted definition of a tool, and another one that is offered. */
export interface Pin {
  readonly upstream: string
  readonly tool: string
  readonly accepted: Accepted | null
  readonly offered: Offered | null
}

export interface Accepted {
  readonly hash: string
  readonly definition: Definition
  readonly at: number
  /** Null: accepted automatically. */
  readonly by: PrincipalKey | null
}

export interface Offered {
  readonly hash: string
  readonly definition: Definition
  readonly at: number
}

export interface StoredPin {
  readonly pin: Pin
  readonly version: number
}

export type Trust = 'first_use' | 'each_tool' | 'strict'

interface Seen {
  readonly upstream: string
  readonly definition: Definition
  readonly hash: string
}

/**
 * The pin after a definition was seen; the same object if nothing changes. `isFirstList`: no tool of the upstream was
 * seen before.
 */
export function sightOf(
  seen: Seen,
  pin: Pin | undefined,
  trust: Trust,
  isFirstList: boolean,
  now: number,
): Pin {
  const { upstream, definition, hash } = seen
  const { name: tool } = definition
  if (pin === undefined) {
    const isTrusted = trust === 'each_tool' || (trust === 'first_use' && isFirstList)
    return isTrusted
      ? { upstream, tool, accepted: { hash, definition, at: now, by: null }, offered: null }
      : { upstream, tool, accepted: null, offered: { hash, definition, at: now } }
  }
  // The upstream offers the accepted definition again.
  if (pin.accepted?.hash === hash) return pin.offered === null ? pin : { ...pin, offered: null }
  return pin.offered?.hash === hash ? pin : { ...pin, offered: { hash, definition, at: now } }
}

/** The pin after an admin has accepted a definition; undefined if it is not the offered one. */
export function acceptance(pin: Pin, hash: string, by: PrincipalKey, now: number): Pin | undefined {
  const { accepted, offered } = pin
  if (accepted?.hash === hash && offered === null) return pin
  if (offered?.hash !== hash) return undefined
  return { ...pin, accepted: { hash, definition: offered.definition, at: now, by }, offered: null }
}

/** Names of upstreams contain no slash. */
export function pinName(upstream: string, tool: string): string {
  return `${upstream}/${tool}`
}

export function pinEntry(tenant: number, pin: Pin): EntryDraft {
  const name = pinName(pin.upstream, pin.tool)
  return { tenant, kind: PIN_KIND, name, value: JSON.stringify(pin), due_at: null }
}

export function pinOf({ value, version }: Entry): StoredPin {
  const pin: Pin = JSON.parse(value)
  return { pin, version }
}
