import { z } from 'zod'
import type { Engine } from '../../engine/engine.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { WorkerRegistry } from '../workers/registry.ts'

const MAX_TYPES = 20

export const unservedTypeShape = z.object({
  type: z.string().describe('Type of the tasks'),
  open_tasks: z.int().describe('Its tasks that have not ended'),
})

export type UnservedType = z.output<typeof unservedTypeShape>

/** Types with tasks that are ready and that no live worker accepts, those with the most open tasks first. */
export async function unservedTypes(
  { engine, workers }: { readonly engine: Engine; readonly workers: WorkerRegistry },
  tenant: number,
): Promise<UnservedType[]> {
  const byType = new Map<string, { open_tasks: number; isReady: boolean }>()
  for (const { type, tasks, mark } of await engine.store.reads.lanes(tenant, 0)) {
    if (type === null || type === TOOL_CALL) continue
    const known = byType.get(type) ?? { open_tasks: 0, isReady: false }
    known.open_tasks += tasks
    known.isReady ||= mark !== null && tasks > 0
    byType.set(type, known)
  }
  const found: UnservedType[] = []
  for (const [type, { open_tasks, isReady }] of byType) {
    if (isReady && (await workers.live.of(tenant, type)) === 0) found.push({ type, open_tasks })
  }
  return found.sort((a, b) => b.open_tasks - a.open_tasks).slice(0, MAX_TYPES)
}
