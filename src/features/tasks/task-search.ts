import { STATUSES } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskLine } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import type { TaskCounts } from './shape.ts'
import { fits, scanPath, type TaskFilter } from './task-filter.ts'

/** Rows that one search reads before it returns what it has, so that a rare match never costs a full scan. */
const MAX_SCANNED = 10_000
const PAGE = 500

export interface Found {
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
