import type { TaskLine } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Services } from '../services.ts'
import { fits, scanPath, type TaskFilter } from './task-filter.ts'

/** Rows that one search looks at before it hands back what it has. A rare match never costs a full scan. */
export const MAX_SCANNED = 10_000
const PAGE = 500

export interface Found {
  readonly lines: readonly TaskLine[]
  /** Where to go on; null at the end. A page may be short and still go on. */
  readonly next: number | null
}

/** The newest tasks that fit, with seq below `before`. */
export async function findTasks(
  engine: Services,
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

interface Page {
  readonly page: readonly TaskLine[]
  /** Whether no rows are left. */
  readonly isLast: boolean
}

/**
 * The rows along the index of a filter, newest first, whether they fit or not: at most MAX_SCANNED of them. Others have
 * their turn between the pages.
 */
export async function* pagesOf(
  engine: Services,
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
