import { storedCommitment } from '../../core/commitment.ts'
import type { CanonicalJson } from '../../core/json/json.ts'
import {
  LeafHasher,
  type LeafRun,
  type LeafTenant,
  leafTemplate,
  principalText,
} from '../../core/merkle/leaf.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { SegmentText } from './segment-text.ts'
import type { Segment } from './segments.ts'

/** The leaves with a seq above `after`: a run for each segment that has any. */
export function runsOf(segments: readonly Segment[], tenant: LeafTenant, after: number): LeafRun[] {
  return segments
    .map((segment) => segmentLeaves(segment, tenant, after))
    .filter(({ hashes }) => hashes.length > 0)
}

/**
 * The hashes of the leaves of those receipts of a segment that have a seq above `after`. They are made of the text of the
 * segment, without the receipts as objects: this is most of what the log costs.
 */
export function segmentLeaves(segment: Segment, tenant: LeafTenant, after: number): LeafRun {
  const text = new SegmentText(segment.receipts)
  const leafOf = leafTemplate(tenant, segment)
  const principals = new Rendered((place) => principalText(text.name(place) as PrincipalKey))
  const names = new Rendered((place) => JSON.stringify(text.nameOrNull(place)))
  const start = Math.max(0, after + 1 - segment.first)
  const hasher = new LeafHasher(Math.max(0, text.count - start))
  for (let index = start; index < text.count; index++) {
    text.select(index)
    hasher.add(
      leafOf({
        seq: segment.first + index,
        commitment: storedCommitment(text.salt(index), text.body() as CanonicalJson),
        receipt_type: names.at(text.type),
        from: principals.at(text.from),
        to: principals.at(text.to),
        task_id: names.at(text.task),
        lease_id: names.at(text.lease),
        schedule_id: names.at(text.schedule),
        parents: text.parents(),
      }),
    )
  }
  return hasher.run(segment.first + start)
}

/** The texts of names, each rendered once. Most receipts of a segment name the same ones. */
class Rendered {
  readonly #render: (place: number) => string
  readonly #texts: (string | undefined)[] = []

  constructor(render: (place: number) => string) {
    this.#render = render
  }

  at(place: number): string {
    if (place < 0) return this.#render(place)
    const known = this.#texts[place]
    if (known !== undefined) return known
    const text = this.#render(place)
    this.#texts[place] = text
    return text
  }
}
