import { hash } from 'node:crypto'
import { CARRIED, isPointer, pointersIn } from '../../core/artifact.ts'
import type { Displaced, LeaseClaim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json, parseCanonical } from '../../core/json/json.ts'
import { matches, staleLease } from '../../core/lease.ts'
import { isHeld, type Outcome } from '../../core/task.ts'
import type { Services } from '../services.ts'
import type { TypeTable } from '../task-types/task-types.ts'
import { type Place, type PlacedResult, placeResult } from './fallback.ts'
import { inlineLimit, type StoredArtifact } from './result-store.ts'

/** What a completion says: its result, and where results are. */
export interface Report {
  readonly result: CanonicalJson
  readonly artifacts: CanonicalJson | null
  /** Why the result is not in the channel where it should be. */
  readonly displaced?: Displaced | undefined
}

type Holder = LeaseClaim & { readonly tenant: number }

/** Faults after which the change may have happened all the same. */
const UNCERTAIN: readonly string[] = ['OUTCOME_UNKNOWN', 'INTERNAL_ERROR']

/** The types of a tenant whose results go to a channel of their own. */
const typeChannels = new WeakMap<TypeTable, ReadonlyMap<string, string>>()

/** Whether a result might not stay with its task. Asked for every completion; most are small and of no such type. */
export function mayLeave(
  { results, settings, taskTypes }: Services,
  tenant: number,
  result: string,
): boolean {
  if (results === undefined) return false
  if (isOver(result, inlineLimit(settings))) return true
  const types = taskTypes.known(tenant)
  return types === undefined || channelsIn(types).size > 0
}

/**
 * Puts a result into its channel and reports the pointer instead of it. The channel comes first, so a task never points
 * at nothing; what is refused then is taken back. The same completion again finds the pointer of the first one.
 */
export async function reportElsewhere<Answer>(
  engine: Services,
  holder: Holder,
  report: Report & { readonly delivery_proof: CanonicalJson | null; readonly summary: string | null },
  submit: (report: Report) => Promise<Answer>,
): Promise<Answer> {
  // The worker has put it away itself.
  if (isPointer(report.result, report.artifacts)) return submit(report)
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

    const places = await placesFor(engine, holder.tenant, spec.type, bytes.length)
    const placed = await placeResult(engine, record, bytes, places, report.summary)
    try {
      return await submit(placedReport(report, task.task_id, checksum, placed))
    } catch (error) {
      if (!(error instanceof Fault) || UNCERTAIN.includes(error.code)) throw error
      await placed.takeBack()
      // The same completion may have been under way twice, and the other one was first.
      if (error.code !== 'RESULT_CONFLICT' || !again) throw error
    }
  }
}

/**
 * Where a result can go, in the order in which it is tried. A channel that fails must not make a finished task impossible to
 * complete, so whatever else can take the result comes after it.
 */
async function placesFor(engine: Services, tenant: number, type: string, size: number): Promise<Place[]> {
  const { results, settings } = engine
  const named = await typeChannel(engine, tenant, type)
  const standard = results?.channel ?? null
  const fits = size <= inlineLimit(settings)
  const others = standard === null || standard === named ? [] : [standard]
  const places: Place[] = [...(named === undefined ? [] : [named]), ...(fits ? [null] : []), ...others]
  const hasChannel = places.some((place) => place !== null)
  checkSize(size, hasChannel ? settings.result_max_bytes : settings.max_payload_bytes)
  return fits || size > settings.max_payload_bytes ? places : [...places, null]
}

/** Where an upload goes; null if there is no channel for it. */
export async function channelFor(engine: Services, tenant: number, type: string): Promise<string | null> {
  const named = await typeChannel(engine, tenant, type)
  if (named !== undefined && engine.results?.has(named)) return named
  return engine.results?.channel ?? null
}

async function typeChannel(
  { taskTypes }: Services,
  tenant: number,
  type: string,
): Promise<string | undefined> {
  return channelsIn(taskTypes.known(tenant) ?? (await taskTypes.load(tenant))).get(type)
}

/** The report with where the result is, and what went wrong on the way there. */
function placedReport(
  report: Report & { readonly delivery_proof: CanonicalJson | null },
  task_id: string,
  checksum: string,
  { artifact, failure }: PlacedResult,
): Report {
  const displaced = failure && { ...failure, kept_in: artifact?.channel ?? 'inline' }
  if (artifact !== undefined) return { ...withArtifact(report, artifact), displaced }
  // A worker relies on the channel to say where the result is. The gate says it instead.
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

/** What the task holds if it was completed with this very result; the decision compares the rest. */
function asBefore(report: Report, hasProof: boolean, checksum: string, outcome: Outcome): Report {
  if (outcome.result === null || outcome.result === report.result) return report
  const before = parseCanonical(outcome.result)
  const [stored] = pointersIn(before)
  if (stored?.checksum !== checksum) return { ...report, result: canonical({ checksum }) }
  // A repetition without evidence says nothing new.
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

/** A character takes at most three bytes, so short texts need no counting. */
function isOver(text: string, limit: number): boolean {
  return text.length * 3 > limit && Buffer.byteLength(text) > limit
}

function checkSize(size: number, limit: number): void {
  if (size > limit) throw new Fault('PAYLOAD_TOO_LARGE', { path: 'result', limit_bytes: limit })
}
