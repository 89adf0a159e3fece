import { z } from 'zod'
import type { Status } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { closest } from '../../util/closest.ts'
import type { Links } from '../links.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { TaskTypes, TypeTable } from '../task-types/task-types.ts'
import type { WorkerRegistry } from '../workers/registry.ts'

export const liveWorkers = z
  .int()
  .optional()
  .describe('Number of recently active workers that take this type')

export interface OutlookDeps {
  readonly engine: Engine
  readonly links: Links
  readonly workers: WorkerRegistry
  readonly taskTypes: TaskTypes
}

interface Outlook {
  readonly live_workers?: number
  readonly hint?: string
}

/** What a task is waiting for: a person to approve it, or a worker for its type. Tool calls need no worker. */
export async function outlook(
  { engine, links, workers, taskTypes }: OutlookDeps,
  tenant: number,
  type: string,
  task_id: string,
  status: Status,
): Promise<Outlook> {
  if (status === 'pending_approval') return { hint: links.approval(task_id) }
  if (status !== 'queued' || type === TOOL_CALL) return {}
  const live_workers = await workers.live.of(tenant, type)
  if (live_workers === undefined) return {}
  if (live_workers > 0) return { live_workers }
  const table = taskTypes.known(tenant) ?? (await taskTypes.load(tenant).catch(() => undefined))
  const meant = table && similarType(table, workers.live.served(tenant), type)
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`
  return { live_workers, hint: `${noWorkerHint(engine, type)}${question}` }
}

/** A search compares the type with each known one, so its results are reused until the workers are counted again. */
const similarTypes = new WeakMap<ReadonlyMap<string, number>, Map<string, string | undefined>>()

/** Longer names, and those beyond the first, are not compared, so that a search stays cheap. */
const MAX_COMPARED_LENGTH = 64
const MAX_COMPARED = 500
const MAX_REMEMBERED = 100

/** The known type that was probably meant. A type that is registered or published is not a mistake. */
function similarType(
  { rules }: TypeTable,
  served: ReadonlyMap<string, number> | undefined,
  type: string,
): string | undefined {
  if (served === undefined || type.length > MAX_COMPARED_LENGTH || rules.has(type)) return undefined
  const known = similarTypes.get(served) ?? new Map<string, string | undefined>()
  similarTypes.set(served, known)
  if (known.has(type)) return known.get(type)
  // A flood of different types is not searched for.
  if (known.size >= MAX_REMEMBERED) return undefined
  const isClose = (name: string) => Math.abs(name.length - type.length) <= MAX_COMPARED_LENGTH / 4
  const names = [...served.keys(), ...rules.keys()].filter(isClose)
  const meant = closest(
    type,
    names.filter((name) => name.length <= MAX_COMPARED_LENGTH).slice(0, MAX_COMPARED),
  )
  known.set(type, meant)
  return meant
}

function noWorkerHint({ settings }: Engine, type: string): string {
  const seconds = settings.worker_offline_seconds
  const span = seconds % 60 === 0 ? plural(seconds / 60, 'minute') : plural(seconds, 'second')
  return `No worker has served type ${type} in the last ${span}. The task waits until one does.`
}

function plural(count: number, unit: string): string {
  return count === 1 ? unit : `${count} ${unit}s`
}
