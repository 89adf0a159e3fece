import type { JsonObject } from '../../core/json/json.ts'
import type { Services } from '../services.ts'

/**
 * Whether a report is a milestone that the type of its task names, by `milestone` or `message` of the report. Asked for
 * every report: the task is read only in tenants where some type names milestones.
 */
export async function isNamedMilestone(
  engine: Services,
  tenant: number,
  task_id: string,
  { milestone, message }: JsonObject,
): Promise<boolean> {
  if (typeof milestone !== 'string' && typeof message !== 'string') return false
  const { taskTypes, store } = engine
  const { rules, hasMilestones } = taskTypes.known(tenant) ?? (await taskTypes.load(tenant))
  if (!hasMilestones) return false
  const [line] = await engine.reading(() => store.reads.lines(tenant, [task_id]))
  const named = line && rules.get(line.type)?.view.milestones
  return named?.some((name) => name === milestone || name === message) ?? false
}
