import type { Engine } from '../../engine/engine.ts'

const KIND = 'archived_result'

/** The stored note about an archived result. */
interface Archived {
  readonly archived_at: number
  /** The principal that archived it, such as agent:alice. */
  readonly by: string
}

/** Records that a result is archived, and resolves with the time at which it was first archived. */
export async function noteArchived(
  engine: Engine,
  tenant: number,
  task_id: string,
  by: string,
): Promise<number> {
  const archived: Archived = { archived_at: Date.now(), by }
  const entry = { tenant, kind: KIND, name: task_id, value: JSON.stringify(archived), due_at: null }
  await engine.writing((entries) => entries.put(entry, 0))
  return (await archivedAt(engine, tenant, task_id)) ?? archived.archived_at
}

export async function archivedAt(
  engine: Engine,
  tenant: number,
  task_id: string,
): Promise<number | undefined> {
  const entry = await engine.reading(() => engine.store.entries.get(tenant, KIND, task_id))
  if (entry === undefined) return undefined
  const archived: Archived = JSON.parse(entry.value)
  return archived.archived_at
}
