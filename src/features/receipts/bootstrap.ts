import { z } from 'zod'
import { isInInbox } from '../../core/inbox.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { PAGE_BYTES, readReceipts, readRecords } from '../../engine/portions.ts'
import type { TaskLine } from '../../store/reads.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { findItems } from '../inbox/list-inbox.ts'
import { askedPrincipal, json, pageLimit, principalFields, text } from '../input.ts'
import type { TenantLimitsRegistry } from '../limits/tenant-limits.ts'
import { hasQuota, quotaWarnings } from '../limits/usage.ts'
import { relationshipShape, relationshipView, serverShape, serverView } from '../server/server.ts'
import { type TaskView, taskShape } from '../tasks/shape.ts'
import { inTurns, taskView } from '../tasks/view.ts'
import { receiptShape, sinceReceiptId, sinceSeq, withDeliveries } from './get-receipt.ts'
import { findOwedTasks } from './list-receipts.ts'
import { lagText, ledgerOf, receiptRouting, receiptRoutingShape } from './shared-ledger.ts'
import { bootstrapSummary } from './summary.ts'

/** The capabilities are stored with the relationship, so they have to be short. */
const MAX_CAPABILITIES_BYTES = 16 * 1024

/** Maximum stored text in each part of the response. */
const PART_BYTES = PAGE_BYTES / 4

/** An estimate of the size of a receipt, which the rows of an inbox do not contain. */
const RECEIPT_BYTES = 8 * 1024

const receipts = z.array(receiptShape).readonly()
const tasks = z.array(taskShape).readonly()

/**
 * Results stay in the inbox until they are acknowledged, archived or promoted, or until the cursor has passed them, so a
 * lost response loses no result.
 */
export const bootstrap = defineOperation({
  name: 'bootstrap',
  title: 'Start a session',
  description:
    'Registers your session and returns what needs your attention: waiting results, open tasks and anomalies. Results stay in the inbox until you acknowledge them or move the cursor past them. ' +
    'New clients should use list_open_obligations to see what is owed to them.',
  input: z.strictObject({
    ...principalFields,
    agent_instance_id: text(255)
      .optional()
      .describe('Which process of the agent calls. A new instance counts as a new session'),
    agent_version: text(255)
      .optional()
      .describe('Version of the agent. It is stored and shown, not interpreted'),
    client_capabilities: json
      .optional()
      .describe('Capabilities of the agent, at most 16 KiB. They are stored and shown, not interpreted'),
    since_receipt_id: sinceReceiptId,
    max_items: pageLimit.describe('Maximum number of items of each kind'),
  }),
  output: z.object({
    server: serverShape.describe('The server that answered'),
    relationship: relationshipShape.describe('What the server knows about the principal'),
    attention: z
      .object({
        inbox_receipts: receipts.describe('Receipts in the inbox that are not acknowledged'),
        assigned_tasks: tasks.describe('Tasks that are still owed to the principal'),
        waiting_results: tasks.describe('Ended tasks whose result is not acknowledged'),
        running_or_scheduled: tasks.describe('Those of assigned_tasks that are running or delayed'),
        anomalies: receipts.describe('Those of inbox_receipts that report an anomaly'),
        more: z
          .boolean()
          .describe(
            'Whether items were left out because of their size. list_inbox and list_tasks return them',
          ),
      })
      .describe('What needs the attention of the principal'),
    cursor: z
      .object({
        latest_receipt_id: z
          .string()
          .nullable()
          .describe('Send it as since_receipt_id in the next call; null if there are no receipts'),
      })
      .describe('Where the next call continues'),
    receipt_routing: receiptRoutingShape
      .optional()
      .describe('Where receipts are stored besides this server; absent in standalone mode'),
    receipt_ledger_lag: z
      .string()
      .optional()
      .describe('How many receipts the ReceiptGate has not accepted yet; absent if there are none'),
    warnings: z
      .array(z.string())
      .readonly()
      .describe('Quotas of the tenant that are nearly used up; get_limits has the numbers'),
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  modelFields: ['since_receipt_id'],
  summary: bootstrapSummary,
  rest: { method: 'GET', path: '/v1/bootstrap' },
  effect: WRITES_ONCE,
  async run({ engine, environment, limits, sharedLedger }, caller, asked) {
    const { since_receipt_id, max_items: limit } = asked
    const client_capabilities =
      asked.client_capabilities === undefined
        ? null
        : canonicalWithin(asked.client_capabilities, 'client_capabilities', MAX_CAPABILITIES_BYTES)
    const tenantRef = await engine.tenant(caller.tenant)
    const { tenant } = tenantRef
    const principal = askedPrincipal(caller, asked)
    const since = since_receipt_id === undefined ? undefined : sinceSeq(engine, tenantRef, since_receipt_id)
    const { inbox, end, isCut } = await readInbox(engine, tenant, principal, since, limit)
    const owed = await findOwedTasks(engine, tenant, principal, { from: 0, limit, fits: () => true })
    const assigned = await readViews(engine, tenant, owed.rows)
    const ready = inbox.filter((receipt) => receipt.receipt_type === 'task.result_ready')
    const waiting = await readViews(engine, tenant, await linesOf(engine, tenant, ready))
    const relationship = await engine.submit({
      verb: 'greet',
      tenant,
      principal,
      instance_id: asked.agent_instance_id ?? null,
      agent_version: asked.agent_version ?? null,
      client_capabilities,
      delivered: inbox.map((receipt) => receipt.seq),
    })
    const views = await withDeliveries(engine, tenantRef, inbox, principal)
    const ledger = ledgerOf(sharedLedger, caller)
    const lag = ledger && lagText(await engine.reading(() => ledger.lag()))
    return {
      server: serverView(engine, environment),
      relationship: relationshipView(principal, relationship),
      attention: {
        inbox_receipts: views,
        assigned_tasks: assigned.views,
        waiting_results: waiting.views,
        running_or_scheduled: assigned.views.filter(isRunningOrScheduled),
        anomalies: views.filter((receipt) => receipt.receipt_type === 'system.anomaly'),
        more: isCut || assigned.isCut || waiting.isCut,
      },
      cursor: { latest_receipt_id: end === undefined ? null : engine.receiptId(tenantRef, end) },
      ...(ledger && { receipt_routing: receiptRouting(ledger) }),
      ...(lag !== undefined && { receipt_ledger_lag: lag }),
      warnings: await readWarnings(engine, limits, tenant),
    }
  },
})

/** Reads the counters of the tenant only if it has a quota. */
async function readWarnings(
  engine: Engine,
  limits: TenantLimitsRegistry,
  tenant: number,
): Promise<readonly string[]> {
  const { settings } = limits.known(tenant) ?? (await limits.load(tenant))
  if (!hasQuota(settings)) return []
  return quotaWarnings(settings, await engine.reading(() => engine.store.reads.counters(tenant)))
}

interface Inbox {
  readonly inbox: readonly Receipt[]
  /** Where the next call continues: behind the last receipt shown, or behind the last one scanned if more may follow. */
  readonly end: number | undefined
  readonly isCut: boolean
}

/** The waiting receipts: the first ones after the cursor, or the newest ones if there is no cursor. */
async function readInbox(
  engine: Engine,
  tenant: number,
  principal: PrincipalKey,
  since: number | undefined,
  limit: number,
): Promise<Inbox> {
  const { rows: items, next } = await findItems(engine, tenant, {
    principal,
    which: 'all',
    from: since ?? Number.MAX_SAFE_INTEGER,
    order: since === undefined ? 'descending' : 'ascending',
    limit,
    fits: isInInbox,
  })
  const lines = items.map(({ seq }) => ({ seq, bytes: RECEIPT_BYTES }))
  const { rows, covered } = await readReceipts(engine, tenant, lines, PART_BYTES)
  const isCut = covered < items.length
  const inbox = rows.toSorted((a, b) => a.seq - b.seq)
  const last = inbox.at(-1)?.seq ?? since
  return { inbox, end: since === undefined || isCut ? last : (next ?? last), isCut }
}

function isRunningOrScheduled({ status, next_eligible_at }: TaskView): boolean {
  return status === 'queued' ? next_eligible_at !== null : !isTerminal(status)
}

async function linesOf(engine: Engine, tenant: number, receipts: readonly Receipt[]): Promise<TaskLine[]> {
  const ids = new Set(receipts.flatMap(({ task_id }) => task_id ?? []))
  const lines = await engine.reading(() => engine.store.reads.lines(tenant, [...ids]))
  return lines.sort((a, b) => a.seq - b.seq)
}

async function readViews(engine: Engine, tenant: number, lines: readonly TaskLine[]) {
  const { rows, covered } = await readRecords(engine, tenant, lines, PART_BYTES)
  return { views: await inTurns(rows, (record) => taskView(record)), isCut: covered < lines.length }
}
