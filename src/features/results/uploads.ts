import { pointersIn } from '../../core/artifact.ts'
import { Fault } from '../../core/errors.ts'
import { parseCanonical } from '../../core/json/json.ts'
import { isOpen, type Task } from '../../core/task.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Entry } from '../../store/entries.ts'
import type { ResultStore } from './result-store.ts'

const KIND = 'result_upload'

const HOUR_MS = 3600 * 1000

/** Time after which an upload should have been named in complete. While its task is open, it is checked again later. */
const GRACE_MS = 24 * HOUR_MS

/** Entries of one tenant that are processed in one sweep. */
const PER_SWEEP = 1000

interface Upload {
  readonly pointer: string
  readonly reference: string
}

/** Records an upload until it is known whether its task uses it. */
export async function noteUpload(
  engine: Engine,
  tenant: number,
  task_id: string,
  upload: Upload,
): Promise<void> {
  const name = `${task_id}/${upload.reference}`
  const entry = { tenant, kind: KIND, name, value: JSON.stringify(upload), due_at: Date.now() + GRACE_MS }
  await engine.writing((entries) => entries.put(entry, 0))
}

interface UploadsDeps {
  readonly engine: Engine
  readonly results: ResultStore | undefined
}

/** Removes uploads that no task uses: their worker died, or was too late. */
export class Uploads {
  readonly #deps: UploadsDeps
  #timer: NodeJS.Timeout | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(deps: UploadsDeps) {
    this.#deps = deps
  }

  start(): void {
    if (this.#deps.results === undefined) return
    this.#timer = setInterval(() => {
      this.#running = this.sweep().catch((error) => this.#deps.engine.report(error))
    }, HOUR_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Resolves with the number of removed uploads. */
  async sweep(now = Date.now()): Promise<number> {
    const { engine } = this.#deps
    let removed = 0
    for (const { tenant } of engine.knownTenants) {
      for (const entry of await engine.store.entries.due(tenant, KIND, now, PER_SWEEP)) {
        // An entry that fails stays due and does not block the others.
        const isRemoved = await this.#settle(entry, now).catch((error) => engine.report(error))
        if (isRemoved) removed++
      }
    }
    return removed
  }

  /** Resolves with whether the upload was removed. */
  async #settle(entry: Entry, now: number): Promise<boolean> {
    const { engine, results } = this.#deps
    const { store } = engine
    const { tenant, name, value } = entry
    const [task_id = ''] = name.split('/')
    const upload: Upload = JSON.parse(value)
    const record = await store.reads.task(tenant, task_id)
    if (record !== undefined && isOpen(record.task)) {
      await store.entries.put({ ...entry, due_at: now + GRACE_MS }, entry.version)
      return false
    }
    const isUsed = record !== undefined && uses(record.task, upload.pointer)
    if (!isUsed)
      await results?.ack({ tenant, task_id }, upload.pointer, upload.reference).catch(unlessUnknown)
    await store.entries.remove(tenant, KIND, name)
    return !isUsed
  }
}

function uses(task: Task, pointer: string): boolean {
  if (isOpen(task) || task.outcome.artifacts === null) return false
  return pointersIn(parseCanonical(task.outcome.artifacts)).some((artifact) => artifact.pointer === pointer)
}

/** A channel that is no longer configured keeps its content. */
function unlessUnknown(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'CHANNEL_NOT_CONFIGURED')) throw error
}
