import type { Status } from '../../core/transitions.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'

interface Outlook {
  readonly live_workers?: number
  readonly hint?: string
}

/** What a task waits for: a person who approves it, or a worker that takes its type. Calls of tools need no worker. */
export async function outlook(
  engine: Services,
  tenant: number,
  type: string,
  task_id: string,
  status: Status,
): Promise<Outlook> {
  if (status === 'pending_approval') return { hint: engine.links.approval(task_id) }
  if (status !== 'queued' || type === TOOL_CALL) return {}
  const live_workers = await engine.workers.live.of(tenant, type)
  if (live_workers === undefined) return {}
  return live_workers > 0 ? { live_workers } : { live_workers, hint: nobodyServes(engine, type) }
}

function nobodyServes({ settings }: Services, type: string): string {
  const seconds = settings.worker_offline_seconds
  const span = seconds % 60 === 0 ? plural(seconds / 60, 'minute') : plural(seconds, 'second')
  return `No worker has served type ${type} in the last ${span}. The task waits until one does.`
}

function plural(count: number, unit: string): string {
  return count === 1 ? unit : `${count} ${unit}s`
}
