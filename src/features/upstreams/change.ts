import { body } from '../../core/bodies.ts'
import { canonical, type Json, parseCanonical } from '../../core/json/json.ts'
import { type Caller, GATE, principalKey } from '../../core/principal.ts'
import { isWithinLimit } from '../../core/receipt.ts'
import { sha256 } from '../../util/hash.ts'
import type { Services } from '../services.ts'
import { type UpstreamView, upstreamShape } from './shape.ts'

const upstreamSettings = upstreamShape.omit({
  source: true,
  updated_at: true,
  updated_by: true,
  counts: true,
  offers: true,
  health: true,
})

/** What somebody did to an upstream. */
interface Change {
  readonly name: string
  readonly change: 'set' | 'removed' | 'accepted'
  readonly tool: string | null
  /** The settings of the upstream, or the hash of the tool that is accepted. */
  readonly before: Json
  readonly after: Json
}

/** Tells of a change in a receipt. */
export async function noteChange(engine: Services, caller: Caller, change: Change): Promise<void> {
  const { tenant } = await engine.tenant(caller.tenant)
  const { name, change: how, tool, before, after } = change
  const told = (was: Json, is: Json) =>
    body({
      name: canonical(name),
      change: canonical(how),
      tool: canonical(tool),
      before: canonical(was),
      after: canonical(is),
    })
  const whole = told(before, after)
  await engine.submit({
    verb: 'record',
    tenant,
    type: 'upstream.changed',
    from: principalKey(caller.principal),
    to: GATE,
    // A long list of tools may not fit; then only hashes are told.
    body: isWithinLimit(whole) ? whole : told(hashOf(before), hashOf(after)),
  })
}

function hashOf(value: Json): string | null {
  return value === null ? null : sha256(canonical(value))
}

/** What an admin has set, without how it is; secrets are not shown in it. */
export function settingsOf(view: UpstreamView | undefined): Json {
  if (view === undefined) return null
  const settings = upstreamSettings.parse(view)
  return parseCanonical(canonical(settings))
}
