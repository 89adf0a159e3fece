import { z } from 'zod'
import { checkPermission } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { parse } from '../input.ts'
import { findTasks } from './search/scan.ts'
import { searchFor } from './search/search.ts'
import { visibleTo } from './task-search.ts'

const MAX_VALUES = 20

const completeInput = z.strictObject({ prefix: z.string() })

/** A text with any other character begins no id, so nothing is read for it. */
const PREFIX = /^[0-9a-f-]{0,36}$/

export interface TaskIds {
  /** Newest first. */
  readonly values: readonly string[]
  readonly hasMore: boolean
}

/** The ids of the newest tasks that begin with the prefix, among those that list_tasks shows to the caller. */
export async function completeTaskId(engine: Engine, caller: Caller, input: unknown): Promise<TaskIds> {
  checkPermission(caller, 'list')
  const prefix = parse(completeInput, input).prefix.toLowerCase()
  if (!PREFIX.test(prefix)) return { values: [], hasMore: false }
  const { tenant } = await engine.tenant(caller.tenant)
  const { lines, next } = await findTasks(
    engine,
    tenant,
    searchFor(visibleTo(caller, {}), 0),
    Number.MAX_SAFE_INTEGER,
    MAX_VALUES,
    ({ task_id }) => task_id.startsWith(prefix),
  )
  return { values: lines.map(({ task_id }) => task_id), hasMore: next !== null }
}
