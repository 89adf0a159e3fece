import { z } from 'zod'
import { checkRole } from '../../core/policy.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Engine } from '../engine.ts'
import { parse, text } from '../input.ts'
import type { ReceiptView, RelationshipView, ServerView, TaskView } from '../shapes.ts'
import { taskView } from '../view.ts'
import { askedPrincipal, relationshipView, serverView } from './obligations.ts'
import { pageLimit } from './paging.ts'
import { sinceSeq, withDeliveries } from './receipts.ts'

export const bootstrapInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  agent_instance_id: text(255).optional(),
  agent_version: text(255).optional(),
  client_capabilities: z.unknown().optional(),
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
  }
  readonly cursor: { readonly latest_receipt_id: string | null }
}

/** Receipts that ask for attention. The others are the record of how it came to them. */
const INBOX_TYPES: readonly ReceiptType[] = [
  'task.result_ready',
  'task.escalated',
  'lease.expired',
  'system.anomaly',
]

/** Receipts that one call looks at, so that its cost is bounded whatever the ledger's size. */
const SCANNED_PER_ITEM = 20

/**
 * Who the principal is here and what needs its attention. Results stay in the inbox until they are acknowledged or
 * the cursor has passed them, so an answer that gets lost is no loss.
 */
export async function bootstrap(engine: Engine, caller: Caller, input: unknown): Promise<BootstrapAnswer> {
  checkRole(caller, 'receipts')
  const asked = parse(bootstrapInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  const since =
    asked.since_receipt_id === undefined ? undefined : sinceSeq(engine, tenant, asked.since_receipt_id)
  const { inbox, end } = await readInbox(engine, tenant, principal, since, asked.max_items)
  const open = await engine.reading(() =>
    engine.store.reads.obligations(tenant.tenant, principal, 0, asked.max_items),
  )
  const assigned = await readTasks(engine, tenant, open)
  const waiting = await readTasks(
    engine,
    tenant,
    inbox.filter((receipt) => receipt.receipt_type === 'task.result_ready'),
  )
  const relationship = await engine.submit({
    verb: 'greet',
    tenant: tenant.tenant,
    principal,
    instance_id: asked.agent_instance_id ?? null,
    delivered: inbox.map((receipt) => receipt.seq),
  })
  const views = await withDeliveries(engine, tenant, inbox)
  return {
    server: serverView(engine),
    relationship: relationshipView(principal, relationship),
    attention: {
      inbox_receipts: views,
      assigned_tasks: assigned,
      waiting_results: waiting,
      running_or_scheduled: assigned.filter(isRunningOrScheduled),
      anomalies: views.filter((receipt) => receipt.receipt_type === 'system.anomaly'),
    },
    cursor: {
      latest_receipt_id: end === undefined ? null : engine.receiptId(tenant, end),
    },
  }
}

interface Inbox {
  readonly inbox: Receipt[]
  /** Where the next call goes on: the last receipt shown, or looked at if all that ask for attention are shown. */
  readonly end: number | undefined
}

/** Unacknowledged receipts that ask for attention: the first ones after the cursor, or else the newest. */
async function readInbox(
  engine: Engine,
  tenant: TenantRef,
  principal: PrincipalKey,
  since: number | undefined,
  limit: number,
): Promise<Inbox> {
  const { reads } = engine.store
  const order = since === undefined ? 'descending' : 'ascending'
  const from = since ?? Number.MAX_SAFE_INTEGER
  const path = { by: 'to', to: principal } as const
  const recent = await engine.reading(() =>
    reads.receipts(tenant.tenant, path, from, order, limit * SCANNED_PER_ITEM),
  )
  const candidates = recent.filter((receipt) => INBOX_TYPES.includes(receipt.receipt_type))
  const seqs = candidates.map((receipt) => receipt.seq)
  const acknowledged = await engine.reading(() =>
    reads.children(tenant.tenant, seqs, ['receipt.acknowledged']),
  )
  const own = acknowledged.filter((child) => child.from === principal)
  const settled = new Set(own.map((child) => child.parent))
  const unsettled = candidates.filter((receipt) => !settled.has(receipt.seq))
  const inbox = unsettled.slice(0, limit).sort((a, b) => a.seq - b.seq)
  const last = since === undefined || unsettled.length > limit ? inbox.at(-1) : recent.at(-1)
  return { inbox, end: last?.seq ?? since }
}

function isRunningOrScheduled({ status, next_eligible_at }: TaskView): boolean {
  return status === 'queued' ? next_eligible_at !== null : !isTerminal(status)
}

async function readTasks(
  engine: Engine,
  tenant: TenantRef,
  receipts: readonly Receipt[],
): Promise<TaskView[]> {
  const ids = receipts.flatMap((receipt) => (receipt.task_id === null ? [] : [receipt.task_id]))
  const records = await engine.reading(() => engine.store.reads.tasks(tenant.tenant, [...new Set(ids)]))
  records.sort((a, b) => a.task.seq - b.task.seq)
  return records.map((record) => taskView(record))
}
