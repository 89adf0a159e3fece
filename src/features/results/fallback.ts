import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { Services } from '../services.ts'
import { putResult } from './put.ts'
import type { StoredArtifact } from './result-store.ts'

/** A channel; null is the task itself. */
export type Place = string | null

export interface PlacedResult {
  /** Undefined if the result stays with its task. */
  readonly artifact?: StoredArtifact
  /** Why the first place did not take it. */
  readonly failure?: { readonly channel: string; readonly reason: string }
  /** For when the task does not come to use it. */
  takeBack(): Promise<void>
}

/** Pauses between attempts at a channel that does not answer. */
const RETRY_MS = [200, 1000]

/** What the database, not a channel, failed with. */
const OF_THE_STORE: readonly string[] = ['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'INTERNAL_ERROR']

/** Puts a result into the first of the places that takes it. If none does, the last refusal is the answer. */
export async function placeResult(
  engine: Services,
  record: TaskRecord,
  bytes: Uint8Array,
  places: readonly Place[],
  summary: string | null,
): Promise<PlacedResult> {
  let failure: PlacedResult['failure']
  let last: Fault | undefined
  for (const place of places) {
    if (place === null) return { ...(failure && { failure }), takeBack: async () => {} }
    if (engine.results?.has(place) === false) {
      const { type } = record.spec
      engine.report(new Error(`Results of type ${type} are to go to ${place}, which is not configured.`))
    }
    try {
      const placed = await putPatiently(engine, record, bytes, place, summary)
      return { ...placed, ...(failure && { failure }) }
    } catch (error) {
      if (!(error instanceof Fault) || OF_THE_STORE.includes(error.code)) throw error
      failure ??= { channel: place, reason: error.code }
      last = error
    }
  }
  throw last ?? new Fault('CHANNEL_NOT_CONFIGURED', { channel: 'results_channel' })
}

async function putPatiently(
  engine: Services,
  record: TaskRecord,
  bytes: Uint8Array,
  channel: string,
  summary: string | null,
) {
  const { results } = engine
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
