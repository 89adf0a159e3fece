import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, ENDS } from '../define-operation.ts'
import { MAX_WAIT_SECONDS, principalShape, taskId, text, time } from '../input.ts'
import { MAX_ITEMS } from '../many.ts'
import { line, summaryView } from '../summary.ts'
import { isEmpty } from '../tasks/cancel-tasks.ts'
import { countTasks } from '../tasks/search/scan.ts'
import { filterFields, visibleTo } from '../tasks/task-search.ts'
import { searchOf, statusesOf } from './bulk-run.ts'
import { BULK_ACTIONS, BULK_STATES, type BulkRecord, type BulkSelection, isByIds } from './record.ts'

const bulkShape = z.object({
  bulk_id: z.string().describe('Id of the bulk operation'),
  action: z.enum(BULK_ACTIONS).describe('What is done with the tasks'),
  state: z.enum(BULK_STATES).describe('Whether it is running, is done, or was aborted'),
  query: z.string().nullable().describe('The query that selects the tasks; null if there is none'),
  reason: z.string().nullable().describe('The reason that was given; null if none was'),
  requested_by: principalShape.describe('Who requested it'),
  requested_at: time.describe('When it was requested'),
  finished_at: time.nullable().describe('When it ended; null while it is running'),
  total: z.int().describe('Number of tasks that matched when it was requested'),
  is_total_exact: z.boolean().describe('False if the count stopped at its limit: there are more tasks'),
  done: z.int().describe('Number of tasks that were canceled or retried'),
  skipped: z
    .int()
    .describe('Number of tasks that did not change: they had ended, do not exist or are not yours'),
  failed: z.int().describe('Number of tasks for which it was refused; last_error says why'),
  last_error: z
    .string()
    .nullable()
    .describe('Why the last of them was refused, or why the operation is paused; null if nothing was'),
})

export type BulkView = z.output<typeof bulkShape>

const bulkId = text(64).describe('Id of the bulk operation')

export const startBulkOperation = defineOperation({
  name: 'start_bulk_operation',
  title: 'Cancel or retry many tasks in the background',
  description:
    'Cancels all your open tasks that match a filter, or retries all failed and canceled ones (session_id, type, status, created_by, labels, query; or all: true), or does so with the tasks in task_ids. ' +
    'Only tasks created before the call are changed. It runs in the background: follow it with get_bulk_operation, and stop it with abort_bulk_operation.',
  input: z.strictObject({
    action: z.enum(BULK_ACTIONS).describe('cancel: open tasks; retry: failed and canceled ones'),
    ...filterFields,
    all: z
      .boolean()
      .optional()
      .describe('True: every task that you may change with this action, instead of a filter'),
    task_ids: z
      .array(taskId)
      .min(1)
      .max(MAX_ITEMS)
      .optional()
      .describe('Ids of the tasks, instead of a filter'),
    reason: text(1000).optional().describe('Why the tasks are canceled; recorded in the receipts'),
  }),
  output: bulkShape,
  actor: 'agent',
  access: 'cancel',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/bulk-operations' },
  effect: { ...ENDS, idempotent: false },
  auditSubject: 'bulk_id',
  example: { principal_id: 'planner', action: 'retry', query: 'type:mail.* status:failed age:<1h' },
  async run({ engine, bulkOperations }, caller, { action, task_ids, all, reason = null, ...filter }) {
    if (action === 'retry' && reason !== null) throw invalid('reason', 'is only for cancel')
    const isFiltered = !isEmpty(filter)
    if (all && isFiltered) throw invalid('all', 'cannot be combined with a filter')
    if (task_ids !== undefined && (isFiltered || all)) {
      throw invalid('task_ids', 'cannot be combined with a filter')
    }
    if (!isFiltered && !all && task_ids === undefined) {
      throw invalid('', 'has neither a filter nor task_ids; use all: true for every task')
    }
    const { tenant } = await engine.tenant(caller.tenant)
    const selection: BulkSelection =
      task_ids === undefined ? visibleTo(caller, filter) : { task_ids: [...new Set(task_ids)] }
    const requested_at = await engine.reading(() => engine.store.now())
    const total = await totalOf(engine, tenant, { action, selection, requested_at })
    const record: BulkRecord = {
      ...{ action, selection, reason, requested_at, ...total },
      ...{ tenant: caller.tenant, requested_by: principalKey(caller.principal), role: caller.role },
      ...{ state: 'running', finished_at: null, last_error: null },
      ...{ done: 0, skipped: 0, failed: 0 },
      position: task_ids === undefined ? Number.MAX_SAFE_INTEGER : 0,
    }
    return view(await bulkOperations.request(tenant, record), record)
  },
})

type Asked = Pick<BulkRecord, 'action' | 'selection' | 'requested_at'>

async function totalOf(
  engine: Engine,
  tenant: number,
  asked: Asked,
): Promise<Pick<BulkRecord, 'total' | 'is_total_exact'>> {
  const { action, selection } = asked
  if (isByIds(selection)) return { total: selection.task_ids.length, is_total_exact: true }
  const counts = await countTasks(engine, tenant, searchOf(asked))
  const total = statusesOf(action).reduce((sum, status) => sum + counts[status], 0)
  return { total, is_total_exact: !counts.more }
}

export const getBulkOperation = defineOperation({
  name: 'get_bulk_operation',
  title: 'Get a bulk operation',
  description:
    'How far a bulk operation has got: the number of tasks that matched, were changed or did not change.',
  input: z.strictObject({
    bulk_id: bulkId,
    wait_seconds: z
      .number()
      .min(0)
      .max(MAX_WAIT_SECONDS)
      .default(0)
      .describe('Maximum time to wait until it has ended, in seconds'),
  }),
  output: bulkShape,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/bulk-operations/{bulk_id}' },
  async run({ engine, bulkOperations }, caller, { bulk_id, wait_seconds }, signal) {
    const { tenant } = await engine.tenant(caller.tenant)
    checkOwn(caller, bulk_id, await bulkOperations.get(tenant, bulk_id))
    const record = await bulkOperations.wait(tenant, bulk_id, wait_seconds * 1000, signal)
    return view(bulk_id, checkOwn(caller, bulk_id, record))
  },
})

const MAX_ROWS = 20
const MAX_QUERY = 80

const listSummary = summaryView({
  shape: z.object({
    bulk_operations: z.array(
      z.object({
        bulk_id: z.string().describe('Id of the bulk operation'),
        action: z.enum(BULK_ACTIONS).describe('What is done with the tasks'),
        state: z.enum(BULK_STATES).describe('Whether it is running, is done, or was aborted'),
        query: z.string().optional().describe('The query that selects the tasks; cut if it is long'),
        total: z.int().describe('Number of tasks that matched'),
        done: z.int().describe('Number of tasks that were canceled or retried'),
        failed: z.int().optional().describe('Number of tasks for which it was refused'),
      }),
    ),
    more: z.boolean().describe('Whether there are older ones'),
  }),
  of: ({ bulk_operations: all }: { readonly bulk_operations: readonly BulkView[] }) => ({
    bulk_operations: all.slice(0, MAX_ROWS).map(({ bulk_id, action, state, query, total, done, failed }) => ({
      ...{ bulk_id, action, state, total, done },
      ...(query !== null && { query: line(query, MAX_QUERY) }),
      ...(failed > 0 && { failed }),
    })),
    more: all.length > MAX_ROWS,
  }),
})

export const listBulkOperations = defineOperation({
  name: 'list_bulk_operations',
  title: 'List bulk operations',
  description:
    'The bulk operations of the last 7 days, newest first, at most 200. Agents see their own, admins those of the tenant.',
  input: z.strictObject({}),
  output: z.object({
    bulk_operations: z.array(bulkShape).readonly().describe('The bulk operations, newest first'),
  }),
  access: 'list',
  toolsets: ['operator'],
  summary: listSummary,
  rest: { method: 'GET', path: '/v1/bulk-operations' },
  async run({ engine, bulkOperations }, caller) {
    const { tenant } = await engine.tenant(caller.tenant)
    const stored = await bulkOperations.list(tenant)
    const own = stored.filter(({ record }) => isOwn(caller, record))
    return { bulk_operations: own.map(({ bulk_id, record }) => view(bulk_id, record)) }
  },
})

export const abortBulkOperation = defineOperation({
  name: 'abort_bulk_operation',
  title: 'Abort a bulk operation',
  description:
    'Stops a bulk operation. The tasks that it has changed stay changed. An operation that has ended does not change.',
  input: z.strictObject({ bulk_id: bulkId }),
  output: bulkShape,
  actor: 'agent',
  access: 'cancel',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/bulk-operations/{bulk_id}/abort' },
  effect: ENDS,
  async run({ engine, bulkOperations }, caller, { bulk_id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    checkOwn(caller, bulk_id, await bulkOperations.get(tenant, bulk_id))
    const record = await bulkOperations.abort(tenant, bulk_id)
    return view(bulk_id, checkOwn(caller, bulk_id, record))
  },
})

function isOwn(caller: Caller, { requested_by }: BulkRecord): boolean {
  return seesAll(caller.role) || requested_by === principalKey(caller.principal)
}

function checkOwn(caller: Caller, bulk_id: string, record: BulkRecord | undefined): BulkRecord {
  if (record === undefined) throw new Fault('BULK_OPERATION_NOT_FOUND', { bulk_id })
  if (!isOwn(caller, record)) throw forbidden('admin', caller.role)
  return record
}

function view(bulk_id: string, record: BulkRecord): BulkView {
  const { action, state, selection, reason, total, is_total_exact, done, skipped, failed } = record
  return {
    bulk_id,
    action,
    state,
    query: isByIds(selection) ? null : (selection.query ?? null),
    reason,
    requested_by: parsePrincipalKey(record.requested_by),
    requested_at: isoTime(record.requested_at),
    finished_at: isoOrNull(record.finished_at),
    total,
    is_total_exact,
    done,
    skipped,
    failed,
    last_error: record.last_error,
  }
}
