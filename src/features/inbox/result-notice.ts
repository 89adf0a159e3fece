import { pointersIn } from '../../core/artifact.ts'
import { newItem } from '../../core/inbox.ts'
import { parseCanonical } from '../../core/json/json.ts'
import { isOpen } from '../../core/task.ts'
import type { TerminalStatus } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { describeItems } from './describe-items.ts'

/** What an inbox says about the result of a task, for the inbox of another system. */
export interface ResultNotice {
  readonly principal_ai: string
  readonly task_id: string
  readonly type: string
  readonly status: TerminalStatus
  readonly dead_letter: boolean
  readonly attempt: number
  readonly summary: string
  /** Where the result is stored; null if the task itself stores it, or there is none. */
  readonly result_pointer: string | null
  readonly result_channel: string | null
  readonly completed_at: number
}

/** The notice of a task.result_ready receipt. Undefined if the receipt or its task does not exist any more. */
export async function resultNotice(
  engine: Engine,
  tenantName: string,
  seq: number,
): Promise<ResultNotice | undefined> {
  const tenant = await engine.tenant(tenantName)
  const { reads } = engine.store
  const receipt = await engine.reading(() => reads.receipt(tenant.tenant, seq))
  const task_id = receipt?.task_id
  if (receipt === undefined || task_id == null) return undefined
  const record = await engine.reading(() => reads.task(tenant.tenant, task_id))
  if (record === undefined || isOpen(record.task)) return undefined
  const [described] = await describeItems(engine, tenant, [newItem(tenant.tenant, receipt.to, seq, 0)])
  const { task, spec } = record
  const { artifacts, completed_at, dead_letter } = task.outcome
  const [pointer] = artifacts === null ? [] : pointersIn(parseCanonical(artifacts))
  return {
    principal_ai: task.principal_ai,
    task_id,
    type: spec.type,
    status: task.status,
    dead_letter,
    attempt: task.attempt,
    summary: described?.summary ?? spec.type,
    result_pointer: pointer?.pointer ?? null,
    result_channel: pointer?.channel ?? null,
    completed_at,
  }
}
