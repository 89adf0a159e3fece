import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { isInInbox } from '../../core/inbox.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isTerminal } from '../../core/transitions.ts'
import { PAGE_BYTES, readReceipts, readRecords } from '../../engine/portions.ts'
import type { TaskLine } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { findItems } from '../inbox/search.ts'
import { json, parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import type { ReceiptView, RelationshipView, ServerView } from '../shapes.ts'
import type { TaskView } from '../tasks/shape.ts'
import { inTurns, taskView } from '../tasks/view.ts'
import { askedPrincipal, relationshipView, serverView } from './obligations.ts'
import { findOwed } from './owed.ts'
import { sinceSeq, withDeliveries } from './receipts.ts'

export const bootstrapInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  agent_instance_id: text(255).optional(),
  agent_version: text(255).optional(),
  client_capabilities: json.optional().meta({ description: 'What your program can do; at most 16 KiB' }),
  since_receipt_id: text(64).optional(),
  max_items: pageLimit,
})

export interface BootstrapAnswer {
  readonly server: ServerView
  readonly relationship: RelationshipView
  readonly attention: {
    readonly inbox_receipts: readonly ReceiptView[]
    readonly assigned_tasks: readonly TaskView[]
    readonly waiting_results: readonly TaskView[]
    readonly running_or_scheduled: readonly TaskView[]
    readonly anomalies: readonly ReceiptView[]
    /** Whether something was left out because the answer would have been too large. */
    readonly more: boolean
  }
  readonly cursor: { readonly latest_receipt_id: string | null }
}

/** What an agent says of its program is kept, so it is short. */
const MAX_CAPABILITIES_BYTES = 16 * 1024

/** Stored text in each part of the answer. */
const PART_BYTES = PAGE_BYTES / 4

/**
 * Who the principal is here and what needs its attention. Results stay in the inbox until they are acknowledged, put
 * away or stored in a memory, or the cursor has passed them, so an answer that gets lost is no loss.
 */
export async function bootstrap(engine: Services, caller: Caller, input: unknown): Promise<BootstrapAnswer> {
  checkRole(caller, 'receipts')
  const asked = parse(bootstrapInput, input)
  const client_capabilities =
    asked.client_capabilities === undefined
      ? null
      : canonicalWithin(asked.client_capabilities, 'client_capabilities', MAX_CAPABILITIES_BYTES)
  const tenant = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  const since =
    asked.since_receipt_id === undefined ? undefined : sinceSeq(engine, tenant, asked.since_receipt_id)
  const { inbox, end, isCut } = await readInbox(engine, tenant, principal, since, asked.max_items)
  const owed = await findOwed(engine, tenant.tenant, principal, {
    after: 0,
    limit: asked.max_items,
    fits: () => true,
  })
  const assigned = await readViews(engine, tenant, owed.lines)
  const ready = inbox.filter((receipt) => receipt.receipt_type === 'task.result_ready')
  const waiting = await readViews(engine, tenant, await linesOf(engine, tenant, ready))
  const relationship = await engine.submit({
    verb: 'greet',
    tenant: tenant.tenant,
    principal,
    instance_id: asked.agent_instance_id ?? null,
    agent_version: asked.agent_version ?? null,
    client_capabilities,
    delivered: inbox.map((receipt) => receipt.seq),
  })
  const views = await withDeliveries(engine, tenant, inbox, principal)
  return {
    server: serverView(engine),
    relationship: relationshipView(principal, relationship),
    attention: {
      inbox_receipts: views,
      assigned_tasks: assigned.views,
      waiting_results: waiting.views,
      running_or_scheduled: assigned.views.filter(isRunningOrScheduled),
      anomalies: views.filter((receipt) => receipt.receipt_type === 'system.anomaly'),
      more: isCut || assigned.isCut || waiting.isCut,
    },
    cursor: {
      latest_receipt_id: end === undefined ? null : engine.receiptId(tenant, end),
    },
  }
}

interface Inbox {
  readonly inbox: Receipt[]
  /** Where the next call goes on: the last receipt shown, or looked at if there may be more. */
  readonly end: number | undefined
  readonly isCut: boolean
}

/** What waits in the inbox: the first ones after the cursor, or else the newest. */
async function readInbox(
  engine: Services,
  tenant: TenantRef,
  principal: PrincipalKey,
  since: number | undefined,
  limit: number,
): Promise<Inbox> {
  const { items, next } = await findItems(engine, tenant, {
    principal,
    which: 'all',
    from: since ?? Number.MAX_SAFE_INTEGER,
    order: since === undefined ? 'descending' : 'ascending',
    limit,
    fits: isInInbox,
  })
  const lines = items.map(({ seq }) => ({ seq, bytes: BODY_BYTES }))
  const { rows, covered } = await readReceipts(engine, tenant.tenant, lines, PART_BYTES)
  const isCut = covered < items.length
  const inbox = rows.toSorted((a, b) => a.seq - b.seq)
  const last = inbox.at(-1)?.seq ?? since
  return { inbox, end: since === undefined || isCut ? last : (next ?? last), isCut }
}

/** About how long the body of a receipt is. */
const BODY_BYTES = 8 * 1024

function isRunningOrScheduled({ status, next_eligible_at }: TaskView): boolean {
  return status === 'queued' ? next_eligible_at !== null : !isTerminal(status)
}

async function linesOf(
  engine: Services,
  { tenant }: TenantRef,
  receipts: readonly Receipt[],
): Promise<TaskLine[]> {
  const ids = new Set(receipts.flatMap(({ task_id }) => task_id ?? []))
  const lines = await engine.reading(() => engine.store.reads.lines(tenant, [...ids]))
  return lines.sort((a, b) => a.seq - b.seq)
}

async function readViews(engine: Services, { tenant }: TenantRef, lines: readonly TaskLine[]) {
  const { rows, covered } = await readRecords(engine, tenant, lines, PART_BYTES)
  return { views: await inTurns(rows, (record) => taskView(record)), isCut: covered < lines.length }
}
