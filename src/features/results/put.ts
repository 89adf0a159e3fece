import { randomUUID } from 'node:crypto'
import { Fault } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { ResultContent, ResultStore, StoredArtifact } from './result-store.ts'
import { noteUpload } from './uploads.ts'

export interface ResultDeps {
  readonly engine: Engine
  readonly results: ResultStore | undefined
}

interface Placed {
  readonly artifact: StoredArtifact
  /** Removes the stored result, if the task does not use it after all. */
  takeBack(): Promise<void>
}

/**
 * Stores content in a channel under its task. The upload is recorded, so that it is found and removed if this process
 * dies before the task uses it.
 */
export async function putResult(
  engine: Engine,
  results: ResultStore,
  { task, spec }: TaskRecord,
  content: ResultContent,
  about: { readonly channel: string; readonly media_type: string; readonly summary: string | null },
): Promise<Placed> {
  const { tenant, task_id, principal_ai, owner } = task
  const { channel, media_type, summary } = about
  const reference = randomUUID()
  const artifact = await reporting(engine, () =>
    results.put({ tenant, task_id, type: spec.type, principal_ai, owner, summary }, content, {
      channel,
      media_type,
      max_bytes: engine.settings.result_max_bytes,
      reference,
    }),
  )
  const takeBack = async () => {
    await results.ack(task, artifact.pointer, reference).catch((error: unknown) => engine.report(error))
  }
  try {
    await noteUpload(engine, tenant, task_id, { pointer: artifact.pointer, reference })
  } catch (error) {
    await takeBack()
    throw error
  }
  return { artifact, takeBack }
}

/** Reports to the operator why a channel failed; the caller only sees that it did. */
export async function reporting<T>(engine: Engine, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    if (error instanceof Fault && error.cause !== undefined) engine.report(error.cause)
    throw error
  }
}
