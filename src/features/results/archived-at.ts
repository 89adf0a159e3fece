import type { Engine } from '../../engine/engine.ts'
import { Collection } from '../collection.ts'

/** The stored note about an archived result. */
interface Archived {
  readonly archived_at: number
  /** The principal that archived it, such as agent:alice. */
  readonly by: string
}

function notes(engine: Engine): Collection<Archived> {
  return new Collection(engine, 'archived_result', JSON.parse)
}

/** Records that a result is archived, and resolves with the time at which it was first archived. */
export async function noteArchived(
  engine: Engine,
  tenant: number,
  task_id: string,
  by: string,
): Promise<number> {
  const archived_at = Date.now()
  await notes(engine).put(tenant, task_id, { archived_at, by }, 0)
  return (await archivedAt(engine, tenant, task_id)) ?? archived_at
}

export async function archivedAt(
  engine: Engine,
  tenant: number,
  task_id: string,
): Promise<number | undefined> {
  return (await notes(engine).get(tenant, task_id))?.value.archived_at
}
