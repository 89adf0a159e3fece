import { asksForAttention, newItem } from '../../dist/core/inbox.js'
import type { Receipt } from '../../dist/core/receipt.js'
import { Known } from '../../dist/store/layout/known.js'
import { type Rows, rowsOf } from '../../dist/store/layout/rows.js'
import type { Changes } from '../../dist/store/store.js'
import { cryptoRandom } from '../../dist/util/random.js'
import { NO_CHANGES } from '../../test/support/fixtures.ts'
import type { Sample } from './sample.ts'

/** The rows of one batch of the floor: tasks that are created, tasks of the previous batch that are claimed, and so on. */
export interface FloorBatch {
  readonly rows: Rows
  readonly completed: number
  readonly lastSeq: number
}

/**
 * Generates the batches of the floor, each with the rows of `lifecycles` lifecycles. The rows are those of the engine.
 * Their texts are encoded once: of each batch only the seqs are new.
 */
export function* floorBatches(sample: Sample, lifecycles: number, maxSegment: number): Generator<FloorBatch> {
  const template = templateOf(sample, lifecycles, maxSegment)
  const receipts = lifecycles * receiptsOf(sample).length
  let queued: number[] = []
  let leased: number[] = []
  for (let first = 1; ; first += receipts) {
    const created = Array.from({ length: lifecycles }, (_, n) => first + n)
    const at = <T>(seqs: readonly number[], row: T | undefined) =>
      row === undefined ? [] : seqs.map((seq) => ({ ...row, seq, rank: seq }))
    const shifted = <T extends { readonly first: number }>(lists: readonly T[]) =>
      lists.map((list) => ({ ...list, first: list.first + first }))
    yield {
      rows: {
        ...template,
        tasks: at(created, template.tasks[0]),
        inserted: at(created, template.inserted[0]),
        updated: at(queued, template.updated[0]),
        removed: leased.map((seq) => ({ tenant: 1, parked: 0, seq })),
        finished: at(leased, template.finished[0]),
        segments: shifted(template.segments),
        owned: shifted(template.owned),
        addressed: shifted(template.addressed),
        unread: shifted(template.unread),
      },
      completed: leased.length,
      lastSeq: first + receipts - 1,
    }
    leased = queued
    queued = created
  }
}

function receiptsOf(sample: Sample): Receipt[] {
  return [...sample.created.receipts, ...sample.claimed.receipts, ...sample.completed.receipts]
}

/** The rows of one batch whose first receipt has the seq 0, with one task of each kind. */
function templateOf(sample: Sample, lifecycles: number, maxSegment: number): Rows {
  const { created, claimed, completed } = sample
  const known = new Known()
  known.task({ task: claimed.task, receipts: [1, 2] })
  const repeated = Array.from({ length: lifecycles }, () => receiptsOf(sample)).flat()
  const receipts = repeated.map((receipt, seq) => ({ ...receipt, seq, tenant: 1 }))
  const changes: Changes = {
    ...NO_CHANGES,
    inserted: [created.task],
    updated: [claimed.task],
    finished: [completed.task],
    specs: [created.spec],
    receipts,
    filed: receipts
      .filter(({ receipt_type }) => asksForAttention(receipt_type))
      .map(({ to, seq, created_at }) => newItem(1, to, seq, created_at)),
  }
  const rows = rowsOf(changes, known, maxSegment, cryptoRandom())
  return { ...rows, task_receipts: [], children: [], opened: [], closed: [] }
}
