import { type LeafRun, leafRun } from '../../core/merkle/leaf.ts'
import { HASH_BYTES } from '../../core/merkle/tree.ts'
import type { LedgerLog, LogTenant } from '../../store/ledger-log.ts'
import type { Archive } from '../retention/archive.ts'

export interface LeafSources {
  readonly log: Pick<LedgerLog, 'leaves'>
  readonly archive: Pick<Archive, 'committedFrom'>
}

/** Reads the hashes of the leaves of a tenant in the order of their seqs, from the tables and from archives. */
export class LeafReader {
  readonly #sources: LeafSources
  readonly #tenant: LogTenant
  /** Runs of the tables that follow what was returned last, perhaps after archived ones. */
  #stored: LeafRun[] = []

  constructor(sources: LeafSources, tenant: LogTenant) {
    this.#sources = sources
    this.#tenant = tenant
  }

  /**
   * The leaves that follow the seq `after`; undefined at the end. If no more are at hand, `rows` rows are read. The first
   * one has another seq than the next only if that receipt is missing.
   */
  async next(after: number, rows: number): Promise<LeafRun | undefined> {
    const { log, archive } = this.#sources
    if (this.#stored.length === 0) this.#stored = await log.leaves(this.#tenant, after, rows)
    const [first] = this.#stored
    if (first === undefined || first.first > after + 1) {
      const archived = await archive.committedFrom(this.#tenant.tenant, after + 1)
      if (archived.length > 0) return leafRun(this.#tenant, archived)
    }
    return this.#takeRun()
  }

  /** The stored runs up to the first gap, as one. */
  #takeRun(): LeafRun | undefined {
    const [first] = this.#stored
    if (first === undefined) return undefined
    let next = first.first
    const gap = this.#stored.findIndex((run) => {
      const isGap = run.first !== next
      next += run.hashes.length / HASH_BYTES
      return isGap
    })
    const runs = this.#stored.splice(0, gap < 0 ? this.#stored.length : gap)
    return { first: first.first, hashes: Buffer.concat(runs.map(({ hashes }) => hashes)) }
  }
}
