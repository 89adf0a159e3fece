import type { ChildCounts, ChildLink } from '../../core/flow.ts'
import type { FlowReads } from '../flow.ts'
import { one, type Runner, type Work } from './steps.ts'

export const FLOW_STATEMENTS = {
  children: `SELECT tenant, parent, seq, task_id FROM child_tasks
    WHERE tenant = ? AND parent = ? AND seq > ? ORDER BY seq LIMIT ?`,
  child_counts: `SELECT tenant, parent, total, succeeded, failed, canceled FROM child_counts
    WHERE tenant = ? AND parent = ?`,
} as const

export function flowReadsOn({ read }: Pick<Runner, 'read'>): FlowReads {
  return {
    children: (tenant, parent, after, limit) =>
      read(tenant, () => one<ChildLink>(FLOW_STATEMENTS.children, tenant, parent, after, limit)),
    childCounts: (tenant, parent) => read(tenant, () => childCounts(tenant, parent)),
  }
}

function* childCounts(tenant: number, parent: number): Work<ChildCounts> {
  const [row] = yield* one<ChildCounts>(FLOW_STATEMENTS.child_counts, tenant, parent)
  return row ?? { tenant, parent, total: 0, succeeded: 0, failed: 0, canceled: 0 }
}
