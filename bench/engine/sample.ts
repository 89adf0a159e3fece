import type { Receipt } from '../../dist/core/receipt.js'
import type { DoneTask, OpenTask, TaskSpec } from '../../dist/core/task.js'
import { openGate } from '../../dist/features/gate.js'
import { openSqliteStore } from '../../dist/store/sqlite/store.js'
import { type Changes, isNeed, type Store } from '../../dist/store/store.js'
import { NO_CHANGES } from '../../test/support/fixtures.ts'
import { AGENT, newArtifacts, newPayload, newResult, workerCaller } from './lifecycle.ts'

/** The rows that the engine writes for one lifecycle, as a template for the floor. */
export interface Sample {
  readonly created: { task: OpenTask; spec: TaskSpec; receipts: readonly Receipt[] }
  readonly claimed: { task: OpenTask; receipts: readonly Receipt[] }
  readonly completed: { task: DoneTask; receipts: readonly Receipt[] }
  /** What the last call has written. */
  readonly changes: Changes
}

/** Runs one lifecycle and records its changes. */
export async function takeSample(): Promise<Sample> {
  const store = await openSqliteStore({ path: ':memory:' })
  const written = recordChanges(store)
  const gate = openGate({ store, sweeping: false })
  const worker = workerCaller('worker-1')
  await gate.createTask(AGENT, { type: 'summarise', payload: newPayload() })
  const { tasks } = await gate.leaseNext(worker, { worker_id: 'worker-1' })
  for (const { task_id, lease_id } of tasks) {
    await gate.complete(worker, {
      worker_id: 'worker-1',
      task_id,
      lease_id,
      result: newResult(),
      artifacts: newArtifacts(),
    })
  }
  await gate.close()
  const [create, claim, complete] = written
  return {
    created: {
      task: first(create?.inserted),
      spec: first(create?.specs),
      receipts: create?.receipts ?? [],
    },
    claimed: { task: first(claim?.updated), receipts: claim?.receipts ?? [] },
    completed: { task: first(complete?.finished), receipts: complete?.receipts ?? [] },
    changes: first(written.slice(-1)),
  }
}

/** Records the changes of every commit from now on. */
export function recordChanges(store: Store): Changes[] {
  const written: Changes[] = []
  const commit = store.commit.bind(store)
  store.commit = (need, decide) =>
    commit(need, (loaded) => {
      const changes = decide(loaded)
      if (!isNeed(changes)) written.push(changes)
      return changes
    })
  return written
}

function first<T>(rows: readonly T[] | undefined): T {
  const row = rows?.[0]
  if (row === undefined) throw new Error('the sample lifecycle wrote less than expected')
  return row
}

/** Changes of the tenant alone: the rows of the floor are laid out already. */
export function tenantChanges({ changes }: Sample, seq: number): Changes {
  return { ...NO_CHANGES, tenants: changes.tenants.map((tenant) => ({ ...tenant, tenant: 1, seq })) }
}
