import { taskId } from '../../dist/core/ids.js'
import type { Receipt } from '../../dist/core/receipt.js'
import { cryptoRandom } from '../../dist/util/random.js'
import type { Sample } from './sample.ts'

/** The rows that the floor writes for one task in one step: those of the engine, with other ids. */
export interface Step {
  readonly task_id: string
  readonly seq: number
  readonly receipts: readonly Receipt[]
}

/** One batch of the floor: tasks that are created, tasks of the previous batch that are claimed, and so on. */
export interface FloorBatch {
  readonly created: readonly Step[]
  readonly claimed: readonly Step[]
  readonly completed: readonly Step[]
  readonly lastSeq: number
}

/** Generates the batches of the floor, each with the rows of `lifecycles` lifecycles. */
export function* floorBatches(sample: Sample, lifecycles: number): Generator<FloorBatch> {
  const random = cryptoRandom()
  let seq = 0
  const step = (of: { task_id: string; seq: number }, receipts: readonly Receipt[]): Step => ({
    ...of,
    receipts: receipts.map((receipt) => ({
      ...receipt,
      seq: ++seq,
      task_id: of.task_id,
      parents: receipt.parents.length > 0 ? [of.seq] : [],
    })),
  })
  let queued: Step[] = []
  let leased: Step[] = []
  for (;;) {
    const created = Array.from({ length: lifecycles }, () =>
      step({ task_id: taskId(Date.now(), random), seq: seq + 1 }, sample.created.receipts),
    )
    const claimed = queued.map((task) => step(task, sample.claimed.receipts))
    const completed = leased.map((task) => step(task, sample.completed.receipts))
    yield { created, claimed, completed, lastSeq: seq }
    queued = created
    leased = claimed
  }
}
