import { z } from 'zod'
import type { Relationship } from '../../core/command.ts'
import { PRINCIPAL_KINDS, type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoOrNull } from '../../core/time.ts'
import { storedOrNull } from '../../engine/stored-json.ts'
import { time } from '../fields.ts'
import { json } from '../input.ts'

/** The record of the contacts between a principal and this server. */
export const relationshipShape = z.object({
  principal_kind: z.enum(PRINCIPAL_KINDS).describe('Kind of the principal'),
  principal_id: z.string().describe('Id of the principal'),
  first_seen_at: time.nullable().describe('When the principal first called bootstrap; null if it never did'),
  last_seen_at: time.nullable().describe('When the principal last called bootstrap; null if it never did'),
  sessions_count: z
    .int()
    .describe('Number of sessions: one per agent instance, and another after 30 minutes without a call'),
  agent_instance_id: z.string().nullable().describe('The instance that called bootstrap last'),
  agent_version: z.string().nullable().describe('The version that the principal last reported'),
  client_capabilities: json.describe(
    'The capabilities that the principal last reported; null if it never did',
  ),
})

export function relationshipView(
  key: PrincipalKey,
  known: Relationship | undefined,
): z.output<typeof relationshipShape> {
  const { kind, id } = parsePrincipalKey(key)
  return {
    principal_kind: kind,
    principal_id: id,
    first_seen_at: isoOrNull(known?.first_seen_at ?? null),
    last_seen_at: isoOrNull(known?.last_seen_at ?? null),
    sessions_count: known?.sessions_count ?? 0,
    agent_instance_id: known?.instance_id ?? null,
    agent_version: known?.agent_version ?? null,
    client_capabilities: storedOrNull(known?.client_capabilities ?? null),
  }
}
