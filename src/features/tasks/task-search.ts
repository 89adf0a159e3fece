import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { parseCanonical } from '../../core/json/json.ts'
import { type Caller, isPrincipalKind, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { STATUSES, type Status } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import type { ScanPath, TaskLine } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import { defineOperation } from '../define-operation.ts'
import { cursor, labels, nextCursor, pageLimit, text } from '../input.ts'
import { type TaskCounts, taskCountsShape, taskShape } from './shape.ts'
import { taskListSummary } from './summary.ts'
import { viewsOf } from './view.ts'

/** The British spelling is accepted too. */
const status = z.preprocess((value) => (value === 'cancelled' ? 'canceled' : value), z.enum(STATUSES))

export const filterFields = {
  status: status.optional().describe('Only tasks in this status'),
  type: text(255).optional().describe('Only tasks of this type'),
  created_by: text(300).optional().describe('Only tasks of this owner: the id of an agent, or kind:id'),
  session_id: text(255).optional().describe('Only tasks with this session_id'),
  labels: labels
    .optional()
    .describe('Only tasks with all of these labels; in a query string label.NAME=VALUE, one for each'),
}

export interface TaskFilter {
  readonly status?: Status | undefined
  readonly type?: string | undefined
  readonly created_by?: string | undefined
  readonly session_id?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** The filter, narrowed to the tasks that the caller may see: agents see their own. */
export function visibleTo(caller: Caller, filter: TaskFilter): TaskFilter {
  if (seesAll(caller.role)) return filter
  const self = principalKey(caller.principal)
  if (filter.created_by !== undefined && ownerOf(filter.created_by) !== self)
    throw forbidden('admin', caller.role)
  return { ...filter, created_by: self }
}

/** The index that is expected to yield the fewest rows; `fits` checks the other conditions. */
function scanPath(filter: TaskFilter): ScanPath {
  if (filter.session_id !== undefined) return { by: 'session', session_id: filter.session_id }
  if (filter.created_by !== undefined) return { by: 'owner', owner: ownerOf(filter.created_by) }
  if (filter.status !== undefined) return { by: 'status', status: filter.status }
  return { by: 'all' }
}

function fits(filter: TaskFilter): (line: TaskLine) => boolean {
  const owner = filter.created_by === undefined ? undefined : ownerOf(filter.created_by)
  const labels = Object.entries(filter.labels ?? {})
  return (line) =>
    (filter.status === undefined || line.status === filter.status) &&
    (filter.type === undefined || line.type === filter.type) &&
    (filter.session_id === undefined || line.session_id === filter.session_id) &&
    (owner === undefined || line.owner === owner) &&
    (labels.length === 0 || hasLabels(line, labels))
}

function hasLabels(line: TaskLine, wanted: readonly (readonly [string, string])[]): boolean {
  if (line.labels === null) return false
  const labels = new Map(Object.entries(parseCanonical(line.labels) ?? {}))
  return wanted.every(([key, value]) => labels.get(key) === value)
}

/** The owner that a filter names. */
export function ownerOf(createdBy: string): PrincipalKey {
  const colon = createdBy.indexOf(':')
  if (colon < 0) return `agent:${createdBy}`
  const kind = createdBy.slice(0, colon)
  if (!isPrincipalKind(kind)) throw invalid('created_by', 'must be the id of an agent or kind:id')
  return `${kind}:${createdBy.slice(colon + 1)}`
}

/** Rows that one search reads before it returns what it has, so that a rare match never costs a full scan. */
const MAX_SCANNED = 10_000
const PAGE = 500

interface Found {
  readonly lines: readonly TaskLine[]
  /** The seq at which the search continues; null at the end. A page can be short and still have a next one. */
  readonly next: number | null
}

/** The newest tasks that match, with seq below `before`. */
export async function findTasks(
  engine: Engine,
  tenant: number,
  filter: TaskFilter,
  before: number,
  limit: number,
  also: (line: TaskLine) => boolean = () => true,
): Promise<Found> {
  const wanted = fits(filter)
  const lines: TaskLine[] = []
  let position = before
  for await (const { page, isLast } of pagesOf(engine, tenant, filter, before)) {
    for (const line of page) {
      if (!wanted(line) || !also(line)) continue
      if (lines.length === limit) return { lines, next: position }
      lines.push(line)
      position = line.seq
    }
    if (isLast) return { lines, next: null }
    position = page.at(-1)?.seq ?? position
  }
  return { lines, next: position }
}

/**
 * A count never costs more than a bounded number of rows. All tasks of a tenant are counted from the index by status,
 * up to MAX_SCANNED of each; with a filter, the newest MAX_SCANNED rows of its index are counted.
 */
export function countFitting(engine: Engine, tenant: number, filter: TaskFilter): Promise<TaskCounts> {
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  return isFiltered ? countAlong(engine, tenant, filter) : countAll(engine, tenant)
}

async function countAll(engine: Engine, tenant: number): Promise<TaskCounts> {
  const found = await engine.reading(() => engine.store.reads.statusCounts(tenant, MAX_SCANNED + 1))
  const counts = { ...NO_TASKS }
  for (const status of STATUSES) {
    counts[status] = Math.min(found[status], MAX_SCANNED)
    counts.more ||= found[status] > MAX_SCANNED
  }
  return counts
}

async function countAlong(engine: Engine, tenant: number, filter: TaskFilter): Promise<TaskCounts> {
  const isCounted = fits(filter)
  const counts = { ...NO_TASKS, more: true }
  for await (const { page, isLast } of pagesOf(engine, tenant, filter, Number.MAX_SAFE_INTEGER)) {
    for (const line of page) if (isCounted(line)) counts[line.status] += 1
    if (isLast) counts.more = false
  }
  return counts
}

const NO_TASKS: Readonly<TaskCounts> = {
  queued: 0,
  leased: 0,
  running: 0,
  pending_approval: 0,
  input_required: 0,
  succeeded: 0,
  failed: 0,
  canceled: 0,
  more: false,
}

interface Page {
  readonly page: readonly TaskLine[]
  readonly isLast: boolean
}

/** The newest rows along the index of a filter, at most MAX_SCANNED of them. */
export function scanLines(engine: Engine, tenant: number, filter: TaskFilter): AsyncGenerator<Page> {
  return pagesOf(engine, tenant, filter, Number.MAX_SAFE_INTEGER)
}

/**
 * The rows along the index of a filter, newest first, whether they match or not: at most MAX_SCANNED of them. Yields to
 * the event loop between pages.
 */
async function* pagesOf(
  engine: Engine,
  tenant: number,
  filter: TaskFilter,
  before: number,
): AsyncGenerator<Page> {
  const path = scanPath(filter)
  let position = before
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    if (scanned > 0) await nextTurn()
    const from = position
    const page = await engine.reading(() => engine.store.reads.scan(tenant, path, from, PAGE))
    const isLast = page.length < PAGE
    yield { page, isLast }
    if (isLast) return
    position = page.at(-1)?.seq ?? position
  }
}

export const listTasks = defineOperation({
  name: 'list_tasks',
  title: 'List tasks',
  description:
    'Lists tasks, newest first, filtered by status, type, session_id, created_by or labels. Agents see their own tasks, admins those of the tenant. ' +
    'A page can hold fewer than limit tasks: follow next_cursor until it is null.',
  input: z.strictObject({ ...filterFields, limit: pageLimit, cursor }),
  output: z.object({
    tasks: z.array(taskShape).readonly().describe('The tasks, newest first'),
    next_cursor: nextCursor,
  }),
  access: 'list',
  toolsets: ['agent', 'operator'],
  modelFields: ['status', 'type', 'session_id', 'labels', 'limit', 'cursor'],
  summary: taskListSummary,
  rest: { method: 'GET', path: '/v1/tasks' },
  example: { principal_id: 'planner', status: 'failed', labels: { team: 'search' }, limit: 20 },
  async run({ engine, cancellations }, caller, { limit, cursor, ...asked }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const filter = visibleTo(caller, asked)
    const scope = { tenant, query: { list: 'tasks', ...filter } }
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : await engine.cursors.read(scope, cursor)
    const found = await findTasks(engine, tenant, filter, before, limit)
    const { rows, covered } = await readRecords(engine, tenant, found.lines)
    const next = covered < found.lines.length ? (found.lines[covered - 1]?.seq ?? null) : found.next
    return {
      tasks: await viewsOf(cancellations, tenant, rows),
      next_cursor: next === null ? null : await engine.cursors.write(scope, next),
    }
  },
})

const { status: _, ...countedBy } = filterFields

export const countTasks = defineOperation({
  name: 'count_tasks',
  title: 'Count tasks by status',
  description:
    'Returns the number of tasks in each status, filtered by type, session_id, created_by or labels. Agents count their own tasks, admins those of the tenant. ' +
    'If more is true, the count stopped at its limit and each number is a lower bound.',
  input: z.strictObject(countedBy),
  output: taskCountsShape,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/tasks/counts' },
  example: { principal_id: 'planner', session_id: 'report-2026-01' },
  async run({ engine }, caller, input) {
    const { tenant } = await engine.tenant(caller.tenant)
    return countFitting(engine, tenant, visibleTo(caller, input))
  },
})
