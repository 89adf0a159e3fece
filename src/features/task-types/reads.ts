import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import { parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import type { TaskTypeView } from './shape.ts'

export const getTaskTypeInput = z.strictObject({ type: text(255) })

export async function getTaskType(engine: Services, caller: Caller, input: unknown): Promise<TaskTypeView> {
  checkRole(caller, 'read')
  const { type } = parse(getTaskTypeInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const found = await engine.taskTypes.get(tenant, type)
  if (found === undefined) throw new Fault('TASK_TYPE_UNKNOWN', { type })
  return found
}

export const listTaskTypesInput = z.strictObject({
  limit: pageLimit,
  cursor: text(255).optional().meta({ description: 'next_cursor of the page before' }),
})

export interface TaskTypePage {
  readonly task_types: readonly TaskTypeView[]
  /** The last name of the page; null at the end. */
  readonly next_cursor: string | null
}

export async function listTaskTypes(engine: Services, caller: Caller, input: unknown): Promise<TaskTypePage> {
  checkRole(caller, 'read')
  const { limit, cursor } = parse(listTaskTypesInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const found = await engine.taskTypes.list(tenant, cursor ?? '', limit + 1)
  const task_types = found.slice(0, limit)
  const next_cursor = found.length > limit ? (task_types.at(-1)?.type ?? null) : null
  return { task_types, next_cursor }
}

/** The types of a tenant that are tools of their own, by its name. */
export async function toolTypes(engine: Services, tenantName: string): Promise<readonly TaskTypeView[]> {
  const { tenant } = await engine.tenant(tenantName)
  const { tools } = engine.taskTypes.known(tenant) ?? (await engine.taskTypes.load(tenant))
  return tools
}
