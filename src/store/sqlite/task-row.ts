import type { OPEN_COLUMNS, OpenRow } from '../rows.ts'

type ValuesOf<Columns extends readonly (keyof OpenRow)[]> = {
  readonly [Index in keyof Columns]: OpenRow[Columns[Index]]
}

export type OpenValues = ValuesOf<typeof OPEN_COLUMNS>

export function rowOf(values: OpenValues): OpenRow {
  const [
    tenant,
    task_id,
    seq,
    lane,
    pool,
    rank,
    owner,
    principal_ai,
    attempt,
    max_attempts,
    expiry_count,
    max_expiries,
    retry_backoff_seconds,
    timeout_seconds,
    deadline_at,
    input_length,
    fence,
    progress_count,
    question_count,
    updated_at,
    status,
    wake_at,
    lease_id,
    holder,
    worker_id,
    instance_id,
    acquired_at,
    renewals,
    started_at,
  ] = values
  return {
    tenant,
    task_id,
    seq,
    lane,
    pool,
    rank,
    owner,
    principal_ai,
    attempt,
    max_attempts,
    expiry_count,
    max_expiries,
    retry_backoff_seconds,
    timeout_seconds,
    deadline_at,
    input_length,
    fence,
    progress_count,
    question_count,
    updated_at,
    status,
    wake_at,
    lease_id,
    holder,
    worker_id,
    instance_id,
    acquired_at,
    renewals,
    started_at,
  }
}
