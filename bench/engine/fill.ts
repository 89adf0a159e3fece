import { taskId } from '../../dist/core/ids.js'
import type { Receipt } from '../../dist/core/receipt.js'
import type { DoneTask, OpenTask, TaskSpec } from '../../dist/core/task.js'
import { openGate } from '../../dist/features/gate.js'
import { NO_NEED, type Store } from '../../dist/store/store.js'
import { cryptoRandom } from '../../dist/util/random.js'
import { NO_CHANGES } from '../../test/support/fixtures.ts'
import { type Database, openStore } from './databases.ts'
import { AGENT, newPayload } from './lifecycle.ts'
import { recordChanges, type Sample } from './sample.ts'

/** Tasks per commit. */
const PORTION = 2_000

interface Copy {
  readonly inserted?: OpenTask
  readonly finished?: DoneTask
  readonly spec: TaskSpec
  readonly receipts: readonly Receipt[]
}

/** Creates a task, and writes `count - 1` more like it, each with its own id, seq and rank. */
export async function fill(database: Database, input: object, count: number): Promise<void> {
  const store = await openStore(database.name, database.address)
  const written = recordChanges(store)
  const gate = openGate({ store, sweeping: false })
  await gate.createTask(AGENT, { ...input, payload: newPayload() })
  const [changes] = written
  const [task, spec, receipt] = [changes?.inserted[0], changes?.specs[0], changes?.receipts[0]]
  if (changes === undefined || !task || !spec || !receipt)
    throw new Error('a create wrote less than expected')
  await copy(store, count - 1, (seq) => {
    const name = { tenant: task.tenant, seq, task_id: newId(seq) }
    const inserted = { ...task, ...name, rank: task.rank + 1000 * (seq - task.seq) }
    return { inserted, spec: { ...spec, ...name }, receipts: [{ ...receipt, ...name }] }
  })
  await gate.close()
}

/** Writes tasks that have succeeded, with their receipts. */
export async function addDoneTasks(database: Database, sample: Sample, count: number): Promise<void> {
  const store = await openStore(database.name, database.address)
  const { tenant } = await store.tenant('default')
  const { created, claimed, completed } = sample
  const receipts = [...created.receipts, ...claimed.receipts, ...completed.receipts]
  await copy(store, count, (seq) => {
    const name = { tenant, seq, task_id: newId(seq) }
    return {
      finished: { ...completed.task, ...name },
      spec: { ...created.spec, ...name },
      receipts: receipts.map((receipt, n) => ({
        ...receipt,
        ...name,
        seq: seq + n,
        parents: receipt.parents.length > 0 ? [seq] : [],
      })),
    }
  })
  await store.close()
}

const random = cryptoRandom()

function newId(seq: number): string {
  return taskId(Date.now(), seq, random)
}

/** Writes copies of a task, in portions. `make` makes the copy whose first receipt has the given seq. */
async function copy(store: Store, count: number, make: (seq: number) => Copy): Promise<void> {
  const { tenant } = await store.tenant('default')
  for (let written = 0; written < count; written += PORTION) {
    const size = Math.min(PORTION, count - written)
    await store.commit({ ...NO_NEED, tenants: [tenant], lanes: [{ tenant, after: 0 }] }, (loaded) => {
      const [before] = loaded.tenants
      if (before === undefined) throw new Error('there is no tenant')
      const copies: Copy[] = []
      let { seq } = before
      for (let n = 0; n < size; n++) {
        const made = make(seq + 1)
        copies.push(made)
        seq += made.receipts.length
      }
      const inserted = copies.flatMap((made) => made.inserted ?? [])
      const version = before.lanes_version + 1
      return {
        ...NO_CHANGES,
        tenants: [
          { ...before, seq, open_tasks: before.open_tasks + inserted.length, lanes_version: version },
        ],
        inserted,
        finished: copies.flatMap((made) => made.finished ?? []),
        specs: copies.map((made) => made.spec),
        receipts: copies.flatMap((made) => made.receipts),
        counted: loaded.lanes.map((lane) => {
          const tasks = inserted.filter((task) => task.lane === lane.lane || task.pool === lane.lane).length
          return { ...lane, tasks: lane.tasks + tasks, version }
        }),
      }
    })
  }
}
