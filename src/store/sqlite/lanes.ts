import type { LaneRow } from '../../core/matching.ts'
import { rateOf } from '../layout/lane-rate.ts'
import type { Database } from './database.ts'

export const TENANT_COLUMNS =
  'tenant, salt, seq, clock, open_tasks, active_leases, ended_tasks, receipt_bytes, lanes, lanes_version'

export const LANE_COLUMNS = [
  'tenant',
  'lane',
  'type',
  'capabilities',
  'priority',
  'mark',
  'tasks',
  'owner',
  'owned',
  'version',
  'limited',
  'max_held',
  'held',
  'rated',
  'rate',
] as const satisfies readonly (keyof LaneRow)[]

export const CHANGED_LANES = `SELECT ${LANE_COLUMNS} FROM lanes WHERE tenant = ? AND version > ? ORDER BY lane`

type StoredLane = Omit<LaneRow, 'capabilities' | 'rate'> & { capabilities: string; rate: string | null }

/** Finds the lanes of a tenant that changed after a version. */
export function prepareLaneLookup(database: Database): (tenant: number, after: number) => LaneRow[] {
  const select = database.prepare(CHANGED_LANES)
  return (tenant, after) => {
    const rows = select.all(tenant, after) as StoredLane[]
    return rows.map((row) => ({
      ...row,
      capabilities: JSON.parse(row.capabilities),
      rate: rateOf(row.rate),
    }))
  }
}
