import { hash } from 'node:crypto'
import { erasedBody, storedCommitment } from '../../core/commitment.ts'
import { Fault } from '../../core/errors.ts'
import { taskSeq } from '../../core/ids.ts'
import type { CommittedReceipt } from '../../core/merkle/leaf.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ArchiveFile, SaltedReceipt } from '../../store/retention.ts'
import { type ArchiveContent, type ArchivedTask, decodeArchive, encodeArchive } from './archive-file.ts'
import type { ArchiveStore } from './port.ts'

/** Archives whose content stays in memory. One has about a megabyte. */
const CACHED = 8
/** Files that are looked up at once for a page. */
const FILES = 50

export type Order = 'ascending' | 'descending'

/** Receipts that were moved from the ledger to files. */
export class Archive {
  readonly #engine: Engine
  readonly #files: ArchiveStore | undefined
  readonly #cache = new Map<string, Promise<ArchiveContent>>()

  constructor(engine: Engine, files: ArchiveStore | undefined) {
    this.#engine = engine
    this.#files = files
  }

  /** Where it is stored; undefined if nothing can be archived. */
  get kind(): ArchiveStore['kind'] | undefined {
    return this.#files?.kind
  }

  async receipt(tenant: number, seq: number): Promise<Receipt | undefined> {
    return (await this.#salted(tenant, seq))?.receipt
  }

  /** The receipt with this seq and those that follow it without a gap in the same file, with their commitments. */
  async committedFrom(tenant: number, seq: number): Promise<CommittedReceipt[]> {
    const found = await this.#with(tenant, seq)
    if (found === undefined) return []
    const receipts = bySeq(await this.#load(tenant, found.file))
    const run: CommittedReceipt[] = []
    for (let at = seq; ; at++) {
      const next = receipts.get(at)
      if (next === undefined) return run
      run.push(committed(next))
    }
  }

  /** What is known of an archived task. */
  async task(tenant: number, taskId: string): Promise<ArchivedTask | undefined> {
    const content = await this.#contentOfTask(tenant, taskId)
    return content?.tasks.find(({ task_id }) => task_id === taskId)
  }

  /** The receipts of the task of `parent` that name it as a parent and have one of these types, oldest first. */
  async children(parent: Receipt, types: readonly ReceiptType[]): Promise<Receipt[]> {
    const { tenant, seq, task_id } = parent
    const found = await this.#with(tenant, seq)
    const content = found && (await this.#load(tenant, found.file))
    return (content?.receipts ?? [])
      .map(({ receipt }) => receipt)
      .filter(
        (receipt) =>
          receipt.task_id === task_id &&
          receipt.parents.includes(seq) &&
          types.includes(receipt.receipt_type),
      )
  }

  /** All receipts, or those of a task, in the order of their seq, beyond `from`. */
  async receipts(
    tenant: number,
    taskId: string | undefined,
    from: number,
    order: Order,
    limit: number,
  ): Promise<Receipt[]> {
    if (taskId === undefined) return this.#page(tenant, from, order, limit)
    const content = await this.#contentOfTask(tenant, taskId)
    const isBeyond = ({ seq }: Receipt) => (order === 'ascending' ? seq > from : seq < from)
    const own = (content?.receipts ?? [])
      .map(({ receipt }) => receipt)
      .filter((receipt) => receipt.task_id === taskId && isBeyond(receipt))
    return (order === 'ascending' ? own : own.reverse()).slice(0, limit)
  }

  /** When archived receipts were first delivered to the inboxes of their addressees, by seq. */
  async deliveries(tenant: number, seqs: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const found = new Map<number, number>()
    for (const seq of seqs) {
      const file = await this.#with(tenant, seq)
      const at = file && (await this.#load(tenant, file.file)).deliveries.get(seq)
      if (at !== undefined) found.set(seq, at)
    }
    return found
  }

  /** Stores an archive, and resolves with its name. It is not part of the ledger before the tables name it. */
  async write(content: ArchiveContent, onNamed: (file: string) => Promise<void>): Promise<string> {
    const bytes = await encodeArchive(content)
    const file = hash('sha256', bytes)
    await onNamed(file)
    await this.#store().put(file, bytes)
    return file
  }

  /** Replaces a file by one with another content. False if it has been replaced by another one meanwhile. */
  async replace(tenant: number, file: string, content: ArchiveContent): Promise<boolean> {
    const { retention } = this.#engine.store
    const by = await this.write(content, async () => {})
    const isReplaced = await this.#engine.writing(() => retention.replaceArchive(tenant, file, by))
    await this.removeUnused(tenant, isReplaced ? file : by)
    return isReplaced
  }

  /** Removes a file that the tables do not name. */
  async removeUnused(tenant: number, file: string): Promise<void> {
    const { retention } = this.#engine.store
    if (await this.#engine.reading(() => retention.isArchive(tenant, file))) return
    this.#cache.delete(file)
    await this.#store().remove(file)
  }

  /**
   * Erases the bodies of the receipts that `isSelected` accepts, in the next files after `after`. Each file with such
   * receipts is replaced by another one. Resolves with where to continue, null at the end, and the number of bodies.
   */
  async erase(
    tenant: number,
    after: string,
    isSelected: (receipt: Receipt, owner: PrincipalKey | undefined) => boolean,
    now: number,
  ): Promise<{ readonly next: string | null; readonly erased: number }> {
    const { retention } = this.#engine.store
    const [found] = await this.#engine.reading(() => retention.archiveFiles(tenant, after, 1))
    if (found === undefined) return { next: null, erased: 0 }
    const content = await this.#load(tenant, found.file)
    const ownerOf = new Map(content.tasks.map(({ task_id, owner }) => [task_id, owner]))
    let erased = 0
    const receipts = content.receipts.map((salted): SaltedReceipt => {
      const { receipt, salt } = salted
      if (salt === undefined || !isSelected(receipt, ownerOf.get(receipt.task_id ?? ''))) return salted
      erased++
      const body = erasedBody(salt, receipt.body, now)
      return { receipt: { ...receipt, body, erased: true }, salt: undefined }
    })
    if (erased === 0) return { next: found.file, erased }
    const isReplaced = await this.replace(tenant, found.file, { ...content, receipts })
    return isReplaced ? { next: found.file, erased } : { next: after, erased: 0 }
  }

  async #salted(tenant: number, seq: number): Promise<SaltedReceipt | undefined> {
    const found = await this.#with(tenant, seq)
    const content = found && (await this.#load(tenant, found.file))
    return content && bySeq(content).get(seq)
  }

  /** A task is archived together with all its receipts. */
  async #contentOfTask(tenant: number, taskId: string): Promise<ArchiveContent | undefined> {
    const seq = taskSeq(taskId)
    const found = seq === undefined ? undefined : await this.#with(tenant, seq)
    return found && this.#load(tenant, found.file)
  }

  #with(tenant: number, seq: number): Promise<ArchiveFile | undefined> {
    return this.#engine.reading(() => this.#engine.store.retention.archiveWith(tenant, seq))
  }

  /** The next receipts, of whatever kind. Empty if there are no more. */
  async #page(tenant: number, from: number, order: Order, limit: number): Promise<Receipt[]> {
    const { retention } = this.#engine.store
    const files = await this.#engine.reading(() => retention.archives(tenant, from, order, FILES))
    const isBeyond = (seq: number) => (order === 'ascending' ? seq > from : seq < from)
    // Files that were not listed have no seqs on this side of the last one that was.
    const end = files.length < FILES ? undefined : files.at(-1)
    const isListed = (seq: number) =>
      end === undefined || (order === 'ascending' ? seq <= end.first : seq >= end.last)
    const seqs: { readonly seq: number; readonly file: string }[] = []
    for (const { runs, file } of files) {
      for (const run of runs) {
        for (let seq = run.first; seq <= run.last; seq++) {
          if (isBeyond(seq) && isListed(seq)) seqs.push({ seq, file })
        }
      }
    }
    seqs.sort((a, b) => (order === 'ascending' ? a.seq - b.seq : b.seq - a.seq))
    const page: Receipt[] = []
    for (const { seq, file } of seqs.slice(0, limit)) {
      const receipt = bySeq(await this.#load(tenant, file)).get(seq)?.receipt
      if (receipt !== undefined) page.push(receipt)
    }
    return page
  }

  #load(tenant: number, file: string): Promise<ArchiveContent> {
    const cached = this.#cache.get(file)
    const content = cached ?? this.#read(tenant, file)
    this.#cache.delete(file)
    this.#cache.set(file, content)
    if (cached === undefined) {
      content.catch(() => this.#cache.delete(file))
      const [oldest] = this.#cache.keys()
      if (this.#cache.size > CACHED && oldest !== undefined) this.#cache.delete(oldest)
    }
    return content
  }

  async #read(tenant: number, file: string): Promise<ArchiveContent> {
    const bytes = await this.#store().get(file)
    if (bytes === undefined) throw damaged(file, 'is missing')
    if (hash('sha256', bytes) !== file) throw damaged(file, 'is damaged')
    return decodeArchive(bytes, tenant)
  }

  #store(): ArchiveStore {
    if (this.#files === undefined) {
      throw new Fault('ARCHIVE_UNAVAILABLE', {}, 'This server is not configured to read archives.')
    }
    return this.#files
  }
}

const MAPS = new WeakMap<ArchiveContent, ReadonlyMap<number, SaltedReceipt>>()

/** The receipts of an archive by their seqs. */
function bySeq(content: ArchiveContent): ReadonlyMap<number, SaltedReceipt> {
  const known = MAPS.get(content)
  if (known !== undefined) return known
  const map = new Map(content.receipts.map((salted) => [salted.receipt.seq, salted]))
  MAPS.set(content, map)
  return map
}

function committed({ receipt, salt }: SaltedReceipt): CommittedReceipt {
  return { receipt, salt, commitment: storedCommitment(salt, receipt.body) }
}

function damaged(file: string, how: string): Fault {
  return new Fault('ARCHIVE_UNAVAILABLE', { file }, `The archive ${file} ${how}.`)
}
