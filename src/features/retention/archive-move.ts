import { isDeepStrictEqual } from 'node:util'
import { INBOX_TYPES } from '../../core/inbox.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Collected, SaltedReceipt } from '../../store/retention.ts'
import { nextTurn } from '../../util/turns.ts'
import type { UsageRecorder } from '../usage/usage-recorder.ts'
import type { Archive } from './archive.ts'
import { type ArchiveContent, archivedTask } from './archive-file.ts'

/** A task that cannot be archived yet is looked at again after this time. */
export const AGAIN_MS = DAY_MS

export interface Moved {
  readonly tasks: number
  readonly receipts: number
}

const NOTHING: Moved = { tasks: 0, receipts: 0 }

interface MoveDeps {
  readonly engine: Engine
  readonly archive: Archive
  readonly usage: Pick<UsageRecorder, 'freed'>
}

/** Moves tasks and receipts of one tenant from the tables to an archive. */
export class ArchiveMove {
  readonly #deps: MoveDeps
  readonly #tenant: number
  readonly #name: string
  /** Notes a file before it is written, so that it is removed if the tables never name it. */
  readonly #onFile: (file: string) => Promise<void>

  constructor(
    deps: MoveDeps,
    tenant: { readonly tenant: number; readonly name: string },
    onFile: (file: string) => Promise<void>,
  ) {
    this.#deps = deps
    this.#tenant = tenant.tenant
    this.#name = tenant.name
    this.#onFile = onFile
  }

  /** Writes one file for all of it, then removes each portion in its own transaction. */
  async move(portions: readonly Collected[], now: number): Promise<Moved> {
    const { archive } = this.#deps
    if (portions.length === 0) return NOTHING
    const content = await this.#contentOf(portions)
    const file = await archive.write(content, this.#onFile)
    const moved: Collected[] = []
    for (const portion of portions) {
      const isMoved = await this.#moveOne(portion, file, now)
      if (isMoved) moved.push(portion)
      else moved.push(...(await this.#separately(portion, file, now)))
      await nextTurn()
    }
    const seqs = new Set(moved.flatMap(({ receipts }) => receipts.map(({ receipt }) => receipt.seq)))
    const taskIds = new Set(moved.flatMap(({ tasks }) => tasks.map(({ task }) => task.task_id)))
    if (seqs.size > 0 && seqs.size < content.receipts.length) {
      // What stayed in the tables can still be erased there, so no file may contain it.
      const rest = {
        ...content,
        tasks: content.tasks.filter(({ task_id }) => taskIds.has(task_id)),
        receipts: content.receipts.filter(({ receipt }) => seqs.has(receipt.seq)),
      }
      await archive.replace(this.#tenant, file, rest)
    } else await archive.removeUnused(this.#tenant, file)
    return { tasks: taskIds.size, receipts: seqs.size }
  }

  /** The rows of the ledger may have been split since they were collected; the receipts must be the same. */
  async #moveOne(portion: Collected, file: string, now: number): Promise<boolean> {
    const { engine } = this.#deps
    const { retention } = engine.store
    const fresh =
      portion.tasks.length === 0
        ? portion
        : await engine.reading(() => retention.collect(this.#tenant, portion.tasks))
    if (!isDeepStrictEqual(fresh.receipts, portion.receipts)) return false
    const isMoved = await engine.writing(() => retention.archive(this.#tenant, fresh, file, now))
    const bytes = fresh.receipts.reduce((sum, { receipt }) => sum + Buffer.byteLength(receipt.body), 0)
    if (isMoved) this.#deps.usage.freed(this.#tenant, bytes)
    return isMoved
  }

  /**
   * One task that has changed, or has an open obligation, must not hold up the others: it is tried again later. Resolves
   * with those that were moved.
   */
  async #separately({ tasks, receipts }: Collected, file: string, now: number): Promise<Collected[]> {
    const { engine } = this.#deps
    const moved: Collected[] = []
    for (const ended of tasks) {
      const own = receipts.filter(({ receipt }) => receipt.task_id === ended.task.task_id)
      const portion: Collected = { tasks: [ended], receipts: own, segments: [] }
      if (await this.#moveOne(portion, file, now)) moved.push(portion)
      else {
        const times = [{ task: ended.task, at: now + AGAIN_MS }]
        await engine.writing(() => engine.store.retention.schedule(this.#tenant, times))
      }
      await nextTurn()
    }
    return moved
  }

  async #contentOf(portions: readonly Collected[]): Promise<ArchiveContent> {
    const { engine } = this.#deps
    const ids = portions.flatMap(({ tasks }) => tasks.map(({ task }) => task.task_id))
    const records = await engine.reading(() => engine.store.reads.tasks(this.#tenant, ids))
    const receipts: SaltedReceipt[] = portions.flatMap((portion) => portion.receipts)
    const refs = receipts
      .filter(({ receipt }) => INBOX_TYPES.includes(receipt.receipt_type))
      .map(({ receipt }) => ({ principal: receipt.to, seq: receipt.seq }))
    const items = await engine.reading(() => engine.store.reads.items(this.#tenant, refs))
    return {
      tenant: this.#name,
      tasks: records.flatMap((each) => archivedTask(each) ?? []).sort((a, b) => order(a.task_id, b.task_id)),
      receipts: receipts.sort((a, b) => a.receipt.seq - b.receipt.seq),
      deliveries: new Map(
        items.flatMap(({ seq, delivered_at }) =>
          delivered_at === null ? [] : [[seq, delivered_at] as const],
        ),
      ),
    }
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
