import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { putResult, type ResultDeps } from './put.ts'
import type { StoredArtifact } from './result-store.ts'

/** A channel; null is the task itself. */
export type Place = string | null

export interface PlacedResult {
  /** Undefined if the task itself stores the result. */
  readonly artifact?: StoredArtifact
  /** Why the first place could not store it. */
  readonly failure?: { readonly channel: string; readonly reason: string }
  /** Removes the stored result, if the task does not use it after all. */
  takeBack(): Promise<void>
}

/** Delays between attempts if a channel is unavailable. */
const RETRY_MS = [200, 1000]

/** Faults of the database, not of a channel. */
const OF_THE_STORE: readonly string[] = ['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'INTERNAL_ERROR']

/** Stores a result in the first place that accepts it. If none does, it throws the fault of the last one. */
export async function placeResult(
  deps: ResultDeps,
  record: TaskRecord,
  bytes: Uint8Array,
  places: readonly Place[],
  summary: string | null,
): Promise<PlacedResult> {
  let failure: PlacedResult['failure']
  let last: Fault | undefined
  for (const place of places) {
    if (place === null) return { ...(failure && { failure }), takeBack: async () => {} }
    if (deps.results?.has(place) === false) {
      const { type } = record.spec
      deps.engine.report(new Error(`The result channel ${place} of task type ${type} is not configured.`))
    }
    try {
      const placed = await putWithRetries(deps, record, bytes, place, summary)
      return { ...placed, ...(failure && { failure }) }
    } catch (error) {
      if (!(error instanceof Fault) || OF_THE_STORE.includes(error.code)) throw error
      failure ??= { channel: place, reason: error.code }
      last = error
    }
  }
  throw last ?? new Fault('CHANNEL_NOT_CONFIGURED', { channel: 'results_channel' })
}

async function putWithRetries(
  { engine, results }: ResultDeps,
  record: TaskRecord,
  bytes: Uint8Array,
  channel: string,
  summary: string | null,
) {
  if (results === undefined) throw new Fault('CHANNEL_NOT_CONFIGURED', { channel })
  const about = { channel, media_type: 'application/json', summary }
  for (const pause of RETRY_MS) {
    try {
      return await putResult(engine, results, record, bytes, about)
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'CHANNEL_UNAVAILABLE') throw error
      await delay(pause)
    }
  }
  return putResult(engine, results, record, bytes, about)
}
