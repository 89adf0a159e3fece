import type { Answers, Greet, Relationship } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { marked } from '../inbox.ts'

/** A principal that was silent this long begins a new session when it comes back. */
const SESSION_GAP_MS = 30 * 60 * 1000

export function greet(draft: Draft, command: Greet): Decision<Answers['greet']> {
  const { now, tenant } = draft.world
  const known = draft.world.relationship(command.principal)
  const relationship: Relationship = {
    tenant: tenant.tenant,
    principal: command.principal,
    instance_id: command.instance_id ?? known?.instance_id ?? null,
    first_seen_at: known?.first_seen_at ?? now,
    last_seen_at: now,
    sessions_count: (known?.sessions_count ?? 0) + (isNewSession(known, command, now) ? 1 : 0),
  }
  draft.relationship(relationship)
  for (const seq of command.delivered) {
    const item = draft.world.item(command.principal, seq)
    const after = item && marked(item, 'delivered', now)
    if (after !== undefined && after !== item) draft.mark(after)
  }
  return draft.done(relationship)
}

function isNewSession(known: Relationship | undefined, command: Greet, now: number): boolean {
  if (known === undefined || now - known.last_seen_at > SESSION_GAP_MS) return true
  return command.instance_id !== null && command.instance_id !== known.instance_id
}
