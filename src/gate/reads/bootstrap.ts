import { z } from 'zod'
import { isInInbox } from '../../core/inbox.ts'
import { checkRole } from '../../core/policy.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Engine } from '../engine.ts'
import { findItems } from '../inbox-search.ts'
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

/** Pages of obligations that one call looks at, so that its cost is bounded whatever the ledger's size. */
const SCANNED_PER_ITEM = 20

/**
 * Who the principal is here and what needs its attention. Results stay in the inbox until they are acknowledged, put
 * away or stored in a memory, or the cursor has passed them, so an answer that gets lost is no loss.
 */
export async function bootstrap(engine: Engine, caller: Caller, input: unknown): Promise<BootstrapAnswer> {
  checkRole(caller, 'receipts')
  const asked = parse(bootstrapInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  const since =
    asked.since_receipt_id === undefined ? undefined : sinceSeq(engine, tenant, asked.since_receipt_id)
  const { inbox, end } = await readInbox(engine, tenant, principal, since, asked.max_items)
  const assigned = await readTasks(engine, tenant, await readOwed(engine, tenant, principal, asked.max_items))
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
  const views = await withDeliveries(engine, tenant, inbox, principal)
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
  /** Where the next call goes on: the last receipt shown, or looked at if there may be more. */
  readonly end: number | undefined
}

/** What waits in the inbox: the first ones after the cursor, or else the newest. */
async function readInbox(
  engine: Engine,
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
  const seqs = items.map((item) => item.seq)
  const inbox = await engine.reading(() => engine.store.reads.receiptsAt(tenant.tenant, seqs))
  inbox.sort((a, b) => a.seq - b.seq)
  const last = inbox.at(-1)?.seq ?? since
  return { inbox, end: since === undefined ? last : (next ?? last) }
}

/** The assignments among what is owed. A schedule is owed too, but the task that asked for it is done. */
async function readOwed(
  engine: Engine,
  tenant: TenantRef,
  principal: PrincipalKey,
  limit: number,
): Promise<Receipt[]> {
  const owed: Receipt[] = []
  let after = 0
  for (let looked = 0; looked < SCANNED_PER_ITEM && owed.length < limit; looked++) {
    const page = await engine.reading(() =>
      engine.store.reads.obligations(tenant.tenant, principal, after, limit),
    )
    owed.push(...page.filter((receipt) => receipt.receipt_type === 'task.assigned'))
    if (page.length < limit) break
    after = page.at(-1)?.seq ?? after
  }
  return owed.slice(0, limit)
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
