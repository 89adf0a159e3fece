import {
  addCounts,
  type ChildCounts,
  type ChildLink,
  type FlowChanges,
  type Links,
  type TaskLink,
  type Unsettled,
} from '../core/flow.ts'

type LoadedLinks = Links & { readonly seq: number }

/** The relations between the tasks of one tenant within a batch. */
export class BatchFlow implements FlowChanges {
  readonly linked: TaskLink[] = []
  readonly followed: TaskLink[] = []
  readonly children: ChildLink[] = []
  readonly settled: Unsettled[] = []
  readonly #counts = new Map<number, ChildCounts>()
  readonly #unsettled = new Map<number, Unsettled>()
  readonly #loaded = new Map<number, Links>()
  readonly unfinished: Unsettled[] = []

  constructor(loaded: readonly LoadedLinks[]) {
    for (const { seq, links, more } of loaded) this.#loaded.set(seq, { links, more })
  }

  get counts(): readonly ChildCounts[] {
    return [...this.#counts.values()]
  }

  get unsettled(): readonly Unsettled[] {
    return [...this.#unsettled.values()]
  }

  /** Tasks to be woken after the commit. */
  get toSettle(): readonly Unsettled[] {
    return [...this.#unsettled.values(), ...this.unfinished]
  }

  links(seq: number): Links | undefined {
    return this.#loaded.get(seq)
  }

  apply(changes: FlowChanges): void {
    this.linked.push(...changes.linked)
    this.children.push(...changes.children)
    for (const counts of changes.counts) {
      const before = this.#counts.get(counts.parent)
      this.#counts.set(counts.parent, before === undefined ? counts : addCounts(before, counts))
    }
    for (const ended of changes.unsettled) this.#unsettled.set(ended.seq, ended)
    for (const link of changes.followed) this.#follow(link)
    this.settled.push(...changes.settled)
    this.unfinished.push(...changes.unfinished)
  }

  /** A second wake in the same batch must not follow the links again. */
  #follow(link: TaskLink): void {
    this.followed.push(link)
    const known = this.#loaded.get(link.seq)
    if (known !== undefined) this.#loaded.set(link.seq, { links: [], more: known.more })
  }
}
