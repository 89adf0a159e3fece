import { z } from 'zod'
import { checkReader, checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { parse, taskId } from '../input.ts'
import type { Services } from '../services.ts'
import type { TaskView } from '../shapes.ts'
import { viewOf } from './task-views.ts'

export const getTaskInput = z.strictObject({ task_id: taskId })

export async function getTask(engine: Services, caller: Caller, input: unknown): Promise<TaskView> {
  checkRole(caller, 'read')
  const { task_id } = parse(getTaskInput, input)
  const record = await readableTask(engine, caller, task_id)
  engine.fetches.note(record.task, principalKey(caller.principal))
  return viewOf(engine, record)
}

/** The same for who only wants to know how far it is: its result does not count as fetched. */
export async function peekTask(engine: Services, caller: Caller, input: unknown): Promise<TaskView> {
  checkRole(caller, 'read')
  const { task_id } = parse(getTaskInput, input)
  return viewOf(engine, await readableTask(engine, caller, task_id))
}

/** The task, if it exists and the caller may see it. */
export async function readableTask(engine: Services, caller: Caller, id: string): Promise<TaskRecord> {
  const record = await readTask(engine, await engine.tenant(caller.tenant), id)
  checkReader(record.task, caller)
  return record
}

export async function readTask(engine: Engine, tenant: TenantRef, id: string): Promise<TaskRecord> {
  const record = await engine.reading(() => engine.store.reads.task(tenant.tenant, id))
  if (record === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: id })
  return record
}
