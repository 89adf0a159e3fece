import { z } from 'zod'
import { checkRole, seesAll } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import { WORKER_STATES, type WorkerView } from './shape.ts'

export const listWorkersInput = z.strictObject({
  state: z.enum(WORKER_STATES).optional(),
  limit: pageLimit,
  cursor: text(255).optional().meta({ description: 'next_cursor of the page before' }),
})

export interface WorkerPage {
  readonly workers: readonly WorkerView[]
  /** The last id of the page; null at the end. With a state a page may be short and still go on. */
  readonly next_cursor: string | null
}

export async function listWorkers(engine: Services, caller: Caller, input: unknown): Promise<WorkerPage> {
  checkRole(caller, 'read')
  const { state, limit, cursor } = parse(listWorkersInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const found = await engine.workers.list(tenant, cursor ?? '', limit + 1, seesAll(caller.role))
  const page = found.slice(0, limit)
  return {
    workers: state === undefined ? page : page.filter((worker) => worker.state === state),
    next_cursor: found.length > limit ? (page.at(-1)?.worker_id ?? null) : null,
  }
}
