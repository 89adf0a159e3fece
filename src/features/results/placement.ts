import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { CARRIED, isPointer, pointersIn } from '../../core/artifact.ts'
import type { Displaced, LeaseClaim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json, parseCanonical } from '../../core/json/json.ts'
import { matches, staleLease } from '../../core/lease.ts'
import { isHeld, type Outcome } from '../../core/task.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TaskTypes, TypeTable } from '../task-types/task-types.ts'
import { putResult, type ResultDeps } from './put.ts'
import { inlineLimit, type ResultStore, type StoredArtifact } from './result-store.ts'

/** A channel; null is the task itself. */
type Place = string | null

interface PlacedResult {
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
async function placeResult(
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
    if (deps.results?.has(record.task.tenant, place) === false) {
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

export interface PlacementDeps {
  readonly engine: Engine
  readonly results: ResultStore | undefined
  readonly taskTypes: TaskTypes
}

/** The part of a completion that says what the result is and where it is stored. */
export interface Report {
  readonly result: CanonicalJson
  readonly artifacts: CanonicalJson | null
  /** Why the result is not in the channel of its type. */
  readonly displaced?: Displaced | undefined
}

type Holder = LeaseClaim & { readonly tenant: number }

/** Faults after which the change may nevertheless have happened. */
const UNCERTAIN: readonly string[] = ['OUTCOME_UNKNOWN', 'INTERNAL_ERROR']

/** The task types of a tenant whose results go to a specific channel. */
const typeChannels = new WeakMap<TypeTable, ReadonlyMap<string, string>>()

/** Whether a result may have to be offloaded. Checked for every completion: most are small and of no such type. */
export function mayOffload(
  { engine, results, taskTypes }: PlacementDeps,
  tenant: number,
  result: string,
): boolean {
  if (results === undefined) return false
  if (isOver(result, inlineLimit(engine.settings))) return true
  const types = taskTypes.known(tenant)
  return types === undefined || channelsIn(types).size > 0
}

/**
 * Stores a result in its channel and submits the pointer instead. The result is stored first, so that a task never has
 * a dangling pointer; it is removed again if the completion is refused. A repeated completion finds the first pointer.
 */
export async function submitOffloaded<Answer>(
  deps: PlacementDeps,
  holder: Holder,
  report: Report & { readonly delivery_proof: CanonicalJson | null; readonly summary: string | null },
  submit: (report: Report) => Promise<Answer>,
): Promise<Answer> {
  // The worker has stored the result itself.
  if (isPointer(report.result, report.artifacts)) return submit(report)
  const { engine } = deps
  const bytes = Buffer.from(report.result)
  const checksum = hash('sha256', bytes)
  for (let again = true; ; again = false) {
    const record = await engine.reading(() => engine.store.reads.task(holder.tenant, holder.task_id))
    if (record === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: holder.task_id })
    const { task, spec } = record
    if (task.status === 'succeeded') {
      return submit(asBefore(report, report.delivery_proof !== null, checksum, task.outcome))
    }
    if (!isHeld(task) || !matches(task.lease, holder)) throw staleLease(task)

    const places = await placesFor(deps, holder.tenant, spec.type, bytes.length)
    const placed = await placeResult(deps, record, bytes, places, report.summary)
    try {
      return await submit(placedReport(report, task.task_id, checksum, placed))
    } catch (error) {
      if (!(error instanceof Fault) || UNCERTAIN.includes(error.code)) throw error
      await placed.takeBack()
      // The same completion may have been sent twice at the same time, and the other one was first.
      if (error.code !== 'RESULT_CONFLICT' || !again) throw error
    }
  }
}

/**
 * The places for a result, in the order in which they are tried. A channel that fails must not make it impossible to
 * complete a finished task, so the other places that can take the result follow.
 */
async function placesFor(
  { engine, results, taskTypes }: PlacementDeps,
  tenant: number,
  type: string,
  size: number,
): Promise<Place[]> {
  const { settings } = engine
  const named = await typeChannel(taskTypes, tenant, type)
  const standard = results?.channelOf(tenant) ?? null
  const fits = size <= inlineLimit(settings)
  const others = standard === null || standard === named ? [] : [standard]
  const places: Place[] = [...(named === undefined ? [] : [named]), ...(fits ? [null] : []), ...others]
  const hasChannel = places.some((place) => place !== null)
  checkSize(size, hasChannel ? settings.result_max_bytes : settings.max_payload_bytes)
  return fits || size > settings.max_payload_bytes ? places : [...places, null]
}

/** The channel for an upload; null if there is none. */
export async function channelFor(
  { results, taskTypes }: Omit<PlacementDeps, 'engine'>,
  tenant: number,
  type: string,
): Promise<string | null> {
  const named = await typeChannel(taskTypes, tenant, type)
  if (named !== undefined && results?.has(tenant, named)) return named
  return results?.channelOf(tenant) ?? null
}

async function typeChannel(taskTypes: TaskTypes, tenant: number, type: string): Promise<string | undefined> {
  return channelsIn(taskTypes.known(tenant) ?? (await taskTypes.load(tenant))).get(type)
}

/** The report with the place of the result, and why it is not the preferred place. */
function placedReport(
  report: Report & { readonly delivery_proof: CanonicalJson | null },
  task_id: string,
  checksum: string,
  { artifact, failure }: PlacedResult,
): Report {
  const displaced = failure && { ...failure, kept_in: artifact?.channel ?? 'inline' }
  if (artifact !== undefined) return { ...withArtifact(report, artifact), displaced }
  // The channel would have made the result locatable. An inline pointer does so instead.
  const isLocated = displaced === undefined || report.artifacts !== null || report.delivery_proof !== null
  const { result } = report
  if (isLocated) return { result, artifacts: report.artifacts, displaced }
  const own = {
    channel: 'inline',
    checksum,
    pointer: `${CARRIED}${task_id}`,
    size: Buffer.byteLength(result),
  }
  return { result, artifacts: canonical([own]), displaced }
}

function withArtifact({ artifacts }: Report, artifact: StoredArtifact): Report {
  const { channel, checksum, media_type, pointer, size } = artifact
  const kept = { channel, checksum, media_type, pointer, size }
  return { result: canonical(kept), artifacts: joined(artifacts, kept) }
}

/** The stored report if the task was completed with the same result; the core compares the rest. */
function asBefore(report: Report, hasProof: boolean, checksum: string, outcome: Outcome): Report {
  if (outcome.result === null || outcome.result === report.result) return report
  const before = parseCanonical(outcome.result)
  const [stored] = pointersIn(before)
  if (stored?.checksum !== checksum) return { ...report, result: canonical({ checksum }) }
  // A repeated completion without evidence adds none.
  const artifacts = report.artifacts === null && !hasProof ? null : joined(report.artifacts, before)
  return { result: outcome.result, artifacts }
}

function joined(artifacts: CanonicalJson | null, last: Json): CanonicalJson {
  const given = artifacts === null ? [] : parseCanonical(artifacts)
  return canonical([...(Array.isArray(given) ? given : [given]), last])
}

function channelsIn(types: TypeTable): ReadonlyMap<string, string> {
  let channels = typeChannels.get(types)
  if (channels === undefined) {
    channels = new Map(
      [...types.rules.values()].flatMap(({ view: { type, result_channel } }) =>
        result_channel === null || result_channel === 'inline' ? [] : [[type, result_channel] as const],
      ),
    )
    typeChannels.set(types, channels)
  }
  return channels
}

/** A UTF-16 code unit takes at most three bytes, so short texts need not be measured. */
function isOver(text: string, limit: number): boolean {
  return text.length * 3 > limit && Buffer.byteLength(text) > limit
}

function checkSize(size: number, limit: number): void {
  if (size > limit) throw new Fault('PAYLOAD_TOO_LARGE', { path: 'result', limit_bytes: limit })
}
