import { checkOwner } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { isOpen } from '../../core/task.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { type CreateAnswer, type CreateDeps, createTask } from './create.ts'
import { inputOf } from './task-input.ts'

interface Retry {
  readonly task_id: string
  readonly idempotency_key?: string | undefined
  readonly deadline_at?: string | undefined
  /** Replaces the payload of the original task. */
  readonly payload?: Json | undefined
}

export async function retry(deps: CreateDeps, caller: Caller, asked: Retry): Promise<CreateAnswer> {
  const { engine } = deps
  const tenant = await engine.tenant(caller.tenant)
  const record = await engine.reading(() => engine.store.reads.task(tenant.tenant, asked.task_id))
  return retryRecord(deps, tenant, caller, record, asked)
}

/** A terminal task stays terminal: the retry is a new task, caused by the receipt that ended the original. */
export async function retryRecord(
  deps: CreateDeps,
  tenant: TenantRef,
  caller: Caller,
  record: TaskRecord | undefined,
  { task_id, payload, ...given }: Retry,
): Promise<CreateAnswer> {
  if (record === undefined) throw new Fault('TASK_NOT_FOUND', { task_id })
  const { task, spec } = record
  checkOwner(task, principalKey(caller.principal), caller.role)
  if (isOpen(task) || task.status === 'succeeded') {
    throw new Fault(
      'INVALID_STATE_TRANSITION',
      { task_status: task.status },
      `A ${task.status} task cannot be retried.`,
    )
  }
  const again = {
    ...inputOf(spec.input),
    // What it depended on has ended, and its parent may have.
    depends_on: undefined,
    depends_mode: undefined,
    parent_policy: undefined,
    ...(payload !== undefined && { payload }),
    principal_ai: task.principal_ai,
    caused_by_receipt_id: deps.engine.receiptId(tenant, task.outcome.receipt_seq),
    idempotency_key: given.idempotency_key,
    deadline_at: given.deadline_at,
  }
  const owner: Caller = { ...caller, principal: parsePrincipalKey(task.owner) }
  // A key made from the payload would be that of the original.
  return createTask(deps, tenant, owner, again, { derivesKey: false })
}
