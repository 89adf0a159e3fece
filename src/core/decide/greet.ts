import type { Answers, Greet, Relationship } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { marked } from '../inbox.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'

/** An instance that was silent this long begins a new session when it comes back. */
const SESSION_GAP_MS = 30 * 60 * 1000

/** Instances that are remembered; the ids are the clients' to choose. */
const MAX_INSTANCES = 50

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
    agent_version: command.agent_version ?? known?.agent_version ?? null,
    client_capabilities: command.client_capabilities ?? known?.client_capabilities ?? null,
    instances: instancesAfter(known, command, now),
  }
  draft.relationship(relationship)
  for (const seq of command.delivered) {
    const item = draft.world.item(command.principal, seq)
    const after = item && marked(item, 'delivered', now)
    if (after !== undefined && after !== item) draft.mark(after)
  }
  return draft.done(relationship)
}

/** Each instance has its own sessions, so that instances that take turns are counted once each. */
function isNewSession(known: Relationship | undefined, command: Greet, now: number): boolean {
  if (known === undefined) return true
  const seen = command.instance_id === null ? known.last_seen_at : seenAt(known, command.instance_id)
  return seen === undefined || now - seen > SESSION_GAP_MS
}

function seenAt(known: Relationship, instance: string): number | undefined {
  const seen = instancesOf(known).find(([id]) => id === instance)?.[1]
  // A relationship of an earlier version knows its latest instance only.
  return seen ?? (known.instances === null && known.instance_id === instance ? known.last_seen_at : undefined)
}

/** The instances that were there lately, this one among them; those that were silent longest give way. */
function instancesAfter(
  known: Relationship | undefined,
  { instance_id }: Greet,
  now: number,
): CanonicalJson | null {
  const before = known === undefined ? [] : instancesOf(known)
  if (instance_id === null) return known?.instances ?? null
  const others = before.filter(([id, at]) => id !== instance_id && now - at <= SESSION_GAP_MS)
  const latest = others.sort(([, a], [, b]) => b - a).slice(0, MAX_INSTANCES - 1)
  return canonical([[instance_id, now], ...latest])
}

function instancesOf({ instances }: Relationship): [id: string, at: number][] {
  return instances === null ? [] : JSON.parse(instances)
}
