import { parseCanonical } from '../../../core/json/json.ts'
import type { PrincipalKey } from '../../../core/principal.ts'
import type { Status } from '../../../core/transitions.ts'
import type { ScanPath, TaskLine, TaskTexts } from '../../../store/reads.ts'
import { type Criteria, criteriaOf } from './match.ts'
import { parseQuery } from './query.ts'

/** What is searched for. All conditions have to hold. */
export interface TaskFilter {
  readonly status?: Status | undefined
  readonly type?: string | undefined
  /** The owner. */
  readonly created_by?: PrincipalKey | undefined
  readonly session_id?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Conditions in the search language. */
  readonly query?: string | undefined
}

/** A filter, prepared for reading the store. */
export interface Search {
  /** Whether every task matches. */
  readonly isEmpty: boolean
  /** The indexes whose rows are read. Every task that matches is on exactly one of them. */
  readonly paths: readonly ScanPath[]
  readonly createdFrom: number
  readonly createdTo: number
  fits(line: TaskLine): boolean
  readonly fitsTexts: ((texts: TaskTexts) => boolean) | undefined
}

/**
 * Throws a fault if the query of the filter is not valid. Ages are relative to `now`. `among` limits the search to tasks in
 * these statuses.
 */
export function searchFor(filter: TaskFilter, now: number, among?: readonly Status[]): Search {
  const terms = filter.query === undefined ? [] : parseQuery(filter.query)
  const criteria = criteriaOf(terms, now)
  const labels = Object.entries(filter.labels ?? {})
  const { query: _, labels: __, ...fields } = filter
  return {
    isEmpty:
      terms.length === 0 &&
      labels.length === 0 &&
      among === undefined &&
      Object.values(fields).every((value) => value === undefined),
    paths: scanPaths(filter, criteria, among),
    createdFrom: criteria.createdFrom,
    createdTo: criteria.createdTo,
    fits: (line) =>
      (filter.status === undefined || line.status === filter.status) &&
      (among === undefined || among.includes(line.status)) &&
      (filter.type === undefined || line.type === filter.type) &&
      (filter.session_id === undefined || line.session_id === filter.session_id) &&
      (filter.created_by === undefined || line.owner === filter.created_by) &&
      (labels.length === 0 || hasLabels(line, labels)) &&
      criteria.fits(line),
    fitsTexts: criteria.fitsTexts,
  }
}

/** The indexes that are expected to yield the fewest rows; `fits` checks the other conditions. */
function scanPaths(
  filter: TaskFilter,
  { session_id, owner, statuses }: Criteria,
  among: readonly Status[] | undefined,
): readonly ScanPath[] {
  const session = filter.session_id ?? session_id
  if (session !== undefined) return [{ by: 'session', session_id: session }]
  const created_by = filter.created_by ?? owner
  if (created_by !== undefined) return [{ by: 'owner', owner: created_by }]
  const limits = [filter.status && [filter.status], statuses, among].filter((limit) => limit !== undefined)
  const [first, ...others] = limits
  if (first === undefined) return [{ by: 'all' }]
  const wanted = first.filter((status) => others.every((limit) => limit.includes(status)))
  return wanted.map((status) => ({ by: 'status', status }))
}

function hasLabels(line: TaskLine, wanted: readonly (readonly [string, string])[]): boolean {
  if (line.labels === null) return false
  const labels = new Map(Object.entries(parseCanonical(line.labels) ?? {}))
  return wanted.every(([key, value]) => labels.get(key) === value)
}
