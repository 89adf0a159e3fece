import { Fault, invalid } from '../../core/errors.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { ReadDefinition } from './definition.ts'
import { acceptance, type Pin, sightOf } from './pins.ts'
import type { RegistryCopy } from './registry-copy.ts'

/** How often a write is tried that somebody else came before. */
const TRIES = 20

/** What is known, and accepted, of the tools of all upstreams. */
export class StoredPins {
  readonly #copy: RegistryCopy

  constructor(copy: RegistryCopy) {
    this.#copy = copy
  }

  /** Of one upstream, by tool. */
  of(upstream: string): ReadonlyMap<string, Pin> {
    const kept = this.#copy.now.pins.get(upstream)
    return new Map([...(kept ?? [])].map(([tool, { pin }]) => [tool, pin]))
  }

  /** Notes what an upstream lists. Resolves when that is safe. */
  async see({ name: upstream, pinned }: UpstreamRecord, list: readonly ReadDefinition[]): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const kept = (await this.#copy.refresh()).pins.get(upstream)
      const isFirstList = kept === undefined
      let isMissed = false
      let isWritten = false
      for (const read of list) {
        if ('unfit' in read) continue
        const { definition, hash } = read
        const before = kept?.get(definition.name)
        const after = sightOf({ upstream, definition, hash }, before?.pin, pinned, isFirstList, Date.now())
        if (after === before?.pin) continue
        isWritten = true
        if (!(await this.#copy.putPin(after, before?.version ?? 0))) isMissed = true
      }
      if (isWritten) await this.#copy.refresh()
      if (!isMissed) return
    }
    throw new Fault('OVERLOADED')
  }

  /** Accepts the definition that is offered, if it is the one with this hash. */
  async accept(upstream: string, tool: string, hash: string, by: PrincipalKey): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const kept = (await this.#copy.refresh()).pins.get(upstream)?.get(tool)
      if (kept === undefined) throw new Fault('UPSTREAM_TOOL_NOT_FOUND', { upstream, tool })
      const after = acceptance(kept.pin, hash, by, Date.now())
      if (after === undefined)
        throw invalid('hash', 'is not that of the definition offered now; get_upstream shows it')
      if (after === kept.pin) return
      if (await this.#copy.putPin(after, kept.version)) {
        await this.#copy.refresh()
        return
      }
    }
    throw new Fault('OVERLOADED')
  }
}
