import { z } from 'zod'
import { checkRole, checkSelf } from '../../core/authorization.ts'
import type { Relationship } from '../../core/command.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { isoOrNull } from '../../core/time.ts'
import { readReceipts } from '../../engine/portions.ts'
import { storedOrNull } from '../../engine/stored-json.ts'
import { VERSION } from '../../util/version.ts'
import { parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import type { ReceiptView, RelationshipView, ServerView } from '../shapes.ts'
import { sinceSeq, withDeliveries } from './receipts.ts'

export const listObligationsInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  since_receipt_id: text(64).optional(),
  limit: pageLimit,
})

export interface ObligationsAnswer {
  readonly server: ServerView
  readonly relationship: RelationshipView
  readonly open_obligations: readonly ReceiptView[]
  /** The last obligation of this page, to be sent as since_receipt_id; null at the end. */
  readonly cursor: string | null
}

/** What is still owed to the principal, oldest first, without a reading of it. Asking changes nothing. */
export async function listObligations(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<ObligationsAnswer> {
  checkRole(caller, 'receipts')
  const asked = parse(listObligationsInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  const after = sinceSeq(engine, tenant, asked.since_receipt_id)
  const { reads } = engine.store
  const [open, relationship] = await engine.reading(() =>
    Promise.all([
      reads.obligationLines(tenant.tenant, principal, after, asked.limit + 1),
      reads.relationship(tenant.tenant, principal),
    ]),
  )
  const { rows } = await readReceipts(engine, tenant.tenant, open.slice(0, asked.limit))
  const last = rows.at(-1)
  return {
    server: serverView(engine),
    relationship: relationshipView(principal, relationship),
    open_obligations: await withDeliveries(engine, tenant, rows),
    cursor: open.length > rows.length && last !== undefined ? engine.receiptId(tenant, last.seq) : null,
  }
}

/** The caller, or whom it names if it may. */
export function askedPrincipal(
  caller: Caller,
  asked: { principal_kind?: (typeof PRINCIPAL_KINDS)[number] | undefined; principal_id?: string | undefined },
): PrincipalKey {
  if (asked.principal_id === undefined) return principalKey(caller.principal)
  const principal: PrincipalKey = `${asked.principal_kind ?? 'agent'}:${asked.principal_id}`
  checkSelf(caller, principal)
  return principal
}

export function serverView(engine: Services): ServerView {
  return {
    name: 'AsyncGate',
    version: VERSION,
    instance_id: engine.settings.instance_id,
    environment: engine.environment,
    uptime: Math.floor((Date.now() - engine.startedAt) / 1000),
  }
}

export function relationshipView(key: PrincipalKey, known: Relationship | undefined): RelationshipView {
  const colon = key.indexOf(':')
  return {
    principal_kind: key.slice(0, colon),
    principal_id: key.slice(colon + 1),
    first_seen_at: isoOrNull(known?.first_seen_at ?? null),
    last_seen_at: isoOrNull(known?.last_seen_at ?? null),
    sessions_count: known?.sessions_count ?? 0,
    agent_instance_id: known?.instance_id ?? null,
    agent_version: known?.agent_version ?? null,
    client_capabilities: storedOrNull(known?.client_capabilities ?? null),
  }
}
