import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { parseCanonical } from '../../core/json/json.ts'
import { type Caller, isPrincipalKind, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { STATUSES, type Status } from '../../core/transitions.ts'
import type { ScanPath, TaskLine } from '../../store/reads.ts'
import { labels, text } from '../input.ts'

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
export function scanPath(filter: TaskFilter): ScanPath {
  if (filter.session_id !== undefined) return { by: 'session', session_id: filter.session_id }
  if (filter.created_by !== undefined) return { by: 'owner', owner: ownerOf(filter.created_by) }
  if (filter.status !== undefined) return { by: 'status', status: filter.status }
  return { by: 'all' }
}

export function fits(filter: TaskFilter): (line: TaskLine) => boolean {
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

function ownerOf(createdBy: string): PrincipalKey {
  const colon = createdBy.indexOf(':')
  if (colon < 0) return `agent:${createdBy}`
  const kind = createdBy.slice(0, colon)
  if (!isPrincipalKind(kind)) throw invalid('created_by', 'must be the id of an agent or kind:id')
  return `${kind}:${createdBy.slice(colon + 1)}`
}
