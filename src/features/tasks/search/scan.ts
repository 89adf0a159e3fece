import { taskTime } from '../../../core/ids.ts'
import { STATUSES } from '../../../core/transitions.ts'
import type { Engine } from '../../../engine/engine.ts'
import type { ScanPath, TaskLine } from '../../../store/reads.ts'
import { nextTurn } from '../../../util/turns.ts'
import type { TaskCounts } from '../shape.ts'
import type { Search } from './search.ts'

/** Rows that one search reads before it returns what it has, so that a rare match never costs a full scan. */
export const MAX_SCANNED = 10_000
const PAGE = 500

/** Long texts that one search reads, in bytes: in total, and at once. */
const MAX_TEXTS = 16 * 1024 * 1024
const PORTION_TEXTS = 1024 * 1024
const PORTION_ROWS = 250

export interface Found {
  readonly lines: readonly TaskLine[]
  /** The seq at which the search continues; null at the end. A page can be short and still have a next one. */
  readonly next: number | null
  /** Rows that were read, whether they match or not. */
  readonly scanned: number
  /** False if the search stopped at its bound. */
  readonly isComplete: boolean
}

/** The newest tasks that match, with seq below `before`. */
export async function findTasks(
  engine: Engine,
  tenant: number,
  search: Search,
  before: number,
  limit: number,
  also: (line: TaskLine) => boolean = () => true,
): Promise<Found> {
  const lines: TaskLine[] = []
  const bound = new TextBound()
  let position = before
  let scanned = 0
  for await (const { page, isLast } of pagesOf(engine, tenant, search, before)) {
    scanned += page.length
    const candidates = page.filter((line) => search.fits(line) && also(line))
    for await (const { line, isMatch } of checked(engine, tenant, search, candidates, bound)) {
      if (isMatch && lines.length === limit) return { lines, next: position, scanned, isComplete: true }
      if (isMatch) lines.push(line)
      position = line.seq
    }
    if (bound.isReached) return { lines, next: position, scanned, isComplete: false }
    if (isLast) return { lines, next: null, scanned, isComplete: true }
    position = page.at(-1)?.seq ?? position
  }
  return { lines, next: position, scanned, isComplete: false }
}

/**
 * A count never costs more than a bounded number of rows. All tasks of a tenant are counted from the index by status,
 * up to MAX_SCANNED of each; with a filter, the newest MAX_SCANNED rows of its index are counted.
 */
export function countTasks(engine: Engine, tenant: number, search: Search): Promise<TaskCounts> {
  return search.isEmpty ? countAll(engine, tenant) : countAlong(engine, tenant, search)
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

async function countAlong(engine: Engine, tenant: number, search: Search): Promise<TaskCounts> {
  const counts = { ...NO_TASKS, more: true }
  const bound = new TextBound()
  for await (const { page, isLast } of pagesOf(engine, tenant, search, Number.MAX_SAFE_INTEGER)) {
    const candidates = page.filter((line) => search.fits(line))
    for await (const { line, isMatch } of checked(engine, tenant, search, candidates, bound)) {
      if (isMatch) counts[line.status] += 1
    }
    if (bound.isReached) break
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

/** How many bytes of long texts a search may still read. */
class TextBound {
  #left = MAX_TEXTS
  isReached = false

  spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) this.isReached = true
  }
}

interface Checked {
  readonly line: TaskLine
  readonly isMatch: boolean
}

/**
 * Whether the candidates match by their long texts too, in order. Texts are read a few at a time. Ends early if the bound
 * is reached.
 */
async function* checked(
  engine: Engine,
  tenant: number,
  { fitsTexts }: Search,
  candidates: readonly TaskLine[],
  bound: TextBound,
): AsyncGenerator<Checked> {
  if (fitsTexts === undefined) {
    for (const line of candidates) yield { line, isMatch: true }
    return
  }
  for (let from = 0; from < candidates.length && !bound.isReached; ) {
    if (from > 0) await nextTurn()
    const portion = firstPortion(candidates, from)
    from += portion.lines.length
    bound.spend(portion.bytes)
    const seqs = portion.lines.map(({ seq }) => seq)
    const found = await engine.reading(() => engine.store.reads.texts(tenant, seqs))
    const matching = new Set(found.filter(fitsTexts).map(({ seq }) => seq))
    for (const line of portion.lines) yield { line, isMatch: matching.has(line.seq) }
  }
}

/** The lines from `from` on whose texts are read at once, at least one. */
function firstPortion(
  lines: readonly TaskLine[],
  from: number,
): { readonly lines: readonly TaskLine[]; readonly bytes: number } {
  let end = from
  let bytes = 0
  while (end < lines.length && end - from < PORTION_ROWS) {
    const more = lines[end]?.bytes ?? 0
    if (bytes + more > PORTION_TEXTS && end > from) break
    bytes += more
    end++
  }
  return { lines: lines.slice(from, end), bytes }
}

interface Page {
  readonly page: readonly TaskLine[]
  readonly isLast: boolean
}

/** The newest rows along the indexes of a search, at most MAX_SCANNED of them. */
export function scanLines(engine: Engine, tenant: number, search: Search): AsyncGenerator<Page> {
  return pagesOf(engine, tenant, search, Number.MAX_SAFE_INTEGER)
}

/**
 * The rows along the indexes of a search, newest first, whether they match or not: at most MAX_SCANNED of them. Yields to
 * the event loop between pages.
 */
async function* pagesOf(
  engine: Engine,
  tenant: number,
  search: Search,
  before: number,
): AsyncGenerator<Page> {
  let position = Math.min(before, await firstPosition(engine, tenant, search))
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    if (scanned > 0) await nextTurn()
    const { page, isLast } = await readPage(engine, tenant, search.paths, position)
    const last = page.at(-1)
    // Older tasks have lower seqs.
    const isPast = last !== undefined && taskTime(last.task_id) < search.createdFrom
    yield { page, isLast: isLast || isPast }
    if (isLast || isPast || last === undefined) return
    position = last.seq
  }
}

/** The next page of several indexes together. */
async function readPage(
  engine: Engine,
  tenant: number,
  paths: readonly ScanPath[],
  before: number,
): Promise<Page> {
  const { reads } = engine.store
  const pages = await engine.reading(() =>
    Promise.all(paths.map((path) => reads.scan(tenant, path, before, PAGE))),
  )
  const [only] = pages
  if (only !== undefined && pages.length === 1) return { page: only, isLast: only.length < PAGE }
  const merged = pages.flat().sort((a, b) => b.seq - a.seq)
  return {
    page: merged.slice(0, PAGE),
    isLast: merged.length <= PAGE && pages.every((page) => page.length < PAGE),
  }
}

/**
 * Where a search for tasks that were created up to some time begins. Seqs rise with time, so it is found with a few
 * lookups, however many newer tasks there are.
 */
async function firstPosition(engine: Engine, tenant: number, { createdTo }: Search): Promise<number> {
  if (createdTo === Number.MAX_SAFE_INTEGER) return createdTo
  const { reads } = engine.store
  return engine.reading(async () => {
    let low = 0
    let high = (await reads.counters(tenant)).seq + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const [newest] = await reads.scan(tenant, { by: 'all' }, middle + 1, 1)
      if (newest === undefined || taskTime(newest.task_id) <= createdTo) low = middle + 1
      else high = newest.seq
    }
    return low
  })
}
