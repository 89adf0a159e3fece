import type { PrincipalKey } from '../../core/principal.ts'
import type { Entry, EntryDraft } from '../../store/entries.ts'
import type { Definition } from './definition.ts'

export const PIN_KIND = 'upstream_tool'

/** What is known of a tool: the definition that was accepted, and another one that waits to be. */
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
  /** Null: nobody was asked. */
  readonly by: PrincipalKey | null
}

export interface Offered {
  readonly hash: string
  readonly definition: Definition
  readonly at: number
}

/** A pin as it is kept, with the version of its entry. */
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
 * What becomes of the pin of a tool that was seen. The same pin if nothing does.
 * `isFirstList`: nothing was ever seen of this upstream.
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
  // Back to what was accepted: there is nothing left to decide.
  if (pin.accepted?.hash === hash) return pin.offered === null ? pin : { ...pin, offered: null }
  return pin.offered?.hash === hash ? pin : { ...pin, offered: { hash, definition, at: now } }
}

/** The pin after an admin has accepted this definition; undefined if it is not the one that is offered. */
export function acceptance(pin: Pin, hash: string, by: PrincipalKey, now: number): Pin | undefined {
  const { accepted, offered } = pin
  if (accepted?.hash === hash && offered === null) return pin
  if (offered?.hash !== hash) return undefined
  return { ...pin, accepted: { hash, definition: offered.definition, at: now, by }, offered: null }
}

/** No name of an upstream has a slash in it. */
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
