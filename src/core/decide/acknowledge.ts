import { forbidden, seesAll } from '../authorization.ts'
import { body } from '../bodies.ts'
import type { Acknowledge, Answers, Greet, MarkInbox, Relationship } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { receiptId } from '../ids.ts'
import { asksForAttention, type InboxItem, marked } from '../inbox.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'

/**
 * Who a receipt is addressed to can acknowledge it, and who has it in the inbox: the agent for whom a task is done. Once
 * is enough. It then leaves the inbox of that one.
 */
export function acknowledge(draft: Draft, command: Acknowledge): Decision<Answers['acknowledge']> {
  const { world } = draft
  const receipt = world.receipt(command.seq)
  const receipt_id = receiptId(world.tenant.salt, command.seq)
  if (receipt === undefined) throw new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  const item = world.item(command.by, command.seq)
  const isAddressed = receipt.to === command.by || item !== undefined
  if (!isAddressed && !seesAll(command.role)) throw forbidden('admin', command.role)
  const before = world.acknowledgement(command.seq, command.by)
  if (before !== undefined) return draft.done({ seq: before })
  const seq = draft.receipt({
    type: 'receipt.acknowledged',
    from: command.by,
    to: GATE,
    ...(receipt.task_id !== null && { task_id: receipt.task_id }),
    parents: [command.seq],
    body: body({ acknowledged_receipt_id: canonical(receipt_id) }),
  })
  if (item !== undefined) draft.mark(marked(marked(item, 'read', world.now), 'archived', world.now))
  return draft.done({ seq })
}

/** Marks items of an inbox, all of them or none. Only whose inbox it is may do it, and those above. */
export function mark(draft: Draft, command: MarkInbox): Decision<Answers['mark']> {
  const items = command.items.map((ref) => {
    if (ref.principal !== command.by && !seesAll(command.role)) throw forbidden('admin', command.role)
    const item = draft.world.item(ref.principal, ref.seq)
    if (item === undefined) throw absent(draft, command, ref.seq)
    return change(draft, item, command)
  })
  return draft.done({ items })
}

function change(draft: Draft, item: InboxItem, { as }: MarkInbox): InboxItem {
  const after = marked(item, as, draft.world.now)
  if (after !== item) draft.mark(after)
  return after
}

/** A receipt that is addressed to another principal, or that is in no inbox. */
function absent({ world }: Draft, { by, role }: MarkInbox, seq: number): Fault {
  const receipt = world.receipt(seq)
  const isOfOthers = receipt !== undefined && receipt.to !== by && asksForAttention(receipt.receipt_type)
  if (isOfOthers) return forbidden('admin', role)
  return new Fault('RECEIPT_NOT_FOUND', { receipt_id: receiptId(world.tenant.salt, seq) })
}

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
