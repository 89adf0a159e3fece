import { z } from 'zod'
import type { Status } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Links } from '../links.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { WorkerRegistry } from '../workers/registry.ts'

export const liveWorkers = z
  .int()
  .optional()
  .describe('Number of recently active workers that take this type')

export interface OutlookDeps {
  readonly engine: Engine
  readonly links: Links
  readonly workers: WorkerRegistry
}

interface Outlook {
  readonly live_workers?: number
  readonly hint?: string
}

/** What a task is waiting for: a person to approve it, or a worker for its type. Tool calls need no worker. */
export async function outlook(
  { engine, links, workers }: OutlookDeps,
  tenant: number,
  type: string,
  task_id: string,
  status: Status,
): Promise<Outlook> {
  if (status === 'pending_approval') return { hint: links.approval(task_id) }
  if (status !== 'queued' || type === TOOL_CALL) return {}
  const live_workers = await workers.live.of(tenant, type)
  if (live_workers === undefined) return {}
  return live_workers > 0 ? { live_workers } : { live_workers, hint: noWorkerHint(engine, type) }
}

function noWorkerHint({ settings }: Engine, type: string): string {
  const seconds = settings.worker_offline_seconds
  const span = seconds % 60 === 0 ? plural(seconds / 60, 'minute') : plural(seconds, 'second')
  return `No worker has served type ${type} in the last ${span}. The task waits until one does.`
}

function plural(count: number, unit: string): string {
  return count === 1 ? unit : `${count} ${unit}s`
}
