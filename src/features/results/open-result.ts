import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Artifact, CARRIED, isPointer, pointersIn } from '../../core/artifact.ts'
import { checkPermission } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { parseCanonical } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { type DoneTask, isOpen } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { Fetches } from '../inbox/fetches.ts'
import { parse, taskId } from '../input.ts'
import { readableTask } from '../tasks/read-task.ts'
import { archivedAt } from './archived-at.ts'
import { type ResultDeps, reporting } from './put.ts'
import type { OpenContent, Part, ResultStore } from './result-store.ts'

const artifact = z
  .int()
  .min(0)
  .describe('Index of the artifact to read instead of the result, from 0, among those with a pointer')

export const resultInput = z.strictObject({ task_id: taskId, artifact: artifact.optional() })

/** The result of a task, wherever it is stored. */
export interface OpenResult extends OpenContent {
  readonly task: DoneTask
  readonly record: TaskRecord
  /** A result that the task itself stores has the channel inline and no pointer. */
  readonly artifact: Omit<Artifact, 'pointer'> & { readonly pointer: string | null }
}

export interface ReadDeps extends ResultDeps {
  readonly fetches: Fetches
}

/** Opens the result of a task as a stream. */
export async function openResult(deps: ReadDeps, caller: Caller, input: unknown): Promise<OpenResult> {
  checkPermission(caller, 'read')
  return openStored(deps, caller, parse(resultInput, input))
}

/** The place that the result points to, or the first artifact that this server can read, or the task itself. */
export async function openStored(
  { engine, results, fetches }: ReadDeps,
  caller: Caller,
  input: z.output<typeof resultInput>,
): Promise<OpenResult> {
  const record = await readableTask(engine, caller, input.task_id)
  const { task } = record
  if (isOpen(task)) {
    const details = { task_id: task.task_id, task_status: task.status }
    throw new Fault('RESULT_NOT_FOUND', details, 'The task has not ended, so there is no result yet.')
  }
  const artifact = chosen(results, task, input.artifact)
  const note = () => fetches.note(task, principalKey(caller.principal))
  if (artifact === undefined) {
    const content = inlineResult(task)
    note()
    return { task, record, ...content }
  }
  if (results === undefined || !results.has(task.tenant, artifact.channel)) {
    const { channel, pointer } = artifact
    throw new Fault('CHANNEL_NOT_CONFIGURED', { channel, pointer })
  }
  const missing = (error: unknown) => notThere(engine, task, artifact.channel, error)
  const opened = await reporting(engine, () => results.get(task, artifact)).catch(missing)
  note()
  const read = (part?: Part) => untilMissing(engine, opened.read(part), missing)
  return { task, record, artifact, size: opened.size ?? artifact.size ?? undefined, read }
}

function chosen(
  results: ResultStore | undefined,
  task: DoneTask,
  nth: number | undefined,
): Artifact | undefined {
  const { artifacts, result } = task.outcome
  const pointers = artifacts === null ? [] : pointersIn(parseCanonical(artifacts))
  const all = pointers.filter(({ pointer }) => !pointer.startsWith(CARRIED))
  if (nth !== undefined) {
    const artifact = all[nth]
    if (artifact === undefined)
      throw invalid('artifact', `is out of range: the task has ${all.length} pointers`)
    return artifact
  }
  // A result that is only a pointer comes first, and is not a result itself.
  const [pointed] = result !== null && isPointer(result, artifacts) ? pointersIn(parseCanonical(result)) : []
  const candidates = pointed === undefined ? all : [pointed, ...all]
  const readable = candidates.find(({ channel }) => results?.has(task.tenant, channel))
  return readable ?? pointed ?? (result === null ? all[0] : undefined)
}

function inlineResult(task: DoneTask): Omit<OpenResult, 'task' | 'record'> {
  const { result } = task.outcome
  if (result === null) {
    throw new Fault('RESULT_NOT_FOUND', { task_id: task.task_id, task_status: task.status })
  }
  const bytes = Buffer.from(result)
  return {
    artifact: {
      pointer: null,
      channel: 'inline',
      checksum: hash('sha256', bytes),
      size: bytes.length,
      media_type: 'application/json',
    },
    size: bytes.length,
    read: (part) => once(part ? bytes.subarray(part.offset, part.offset + part.length) : bytes),
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

/** Some channels fail only while they are read. The cause is reported to the operator. */
async function* untilMissing(
  engine: Engine,
  content: AsyncIterable<Uint8Array>,
  missing: (error: unknown) => Promise<never>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    await reporting(engine, () => missing(error))
  }
}

/** Channels that store results in a folder of one machine. */
const LOCAL_CHANNELS: readonly string[] = ['blob', 'file']

/** Adds why a result is missing, if known: it was archived, or another server has stored it. */
async function notThere(engine: Engine, task: DoneTask, channel: string, error: unknown): Promise<never> {
  if (!(error instanceof Fault) || error.code !== 'RESULT_NOT_FOUND') throw error
  const { tenant, task_id, outcome } = task
  const at = await archivedAt(engine, tenant, task_id)
  if (at !== undefined) {
    const details = { ...error.details, archived_at: isoTime(at) }
    throw new Fault('RESULT_NOT_FOUND', details, 'The result was archived.')
  }
  const ending = await engine.reading(() => engine.store.reads.receipt(tenant, outcome.receipt_seq))
  const stored_by = ending?.instance
  const isElsewhere = stored_by !== undefined && stored_by !== engine.settings.instance_id
  if (!isElsewhere || !LOCAL_CHANNELS.includes(channel)) throw error
  throw new Fault(
    'RESULT_NOT_FOUND',
    { ...error.details, stored_by },
    `The server ${stored_by} stored the result, and this server cannot read it. Fetch it from that server, or have the operator share the folder of the channel ${channel}.`,
  )
}
