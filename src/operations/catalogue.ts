import { emailOperations } from './email.ts'
import { inboxOperations } from './inbox.ts'
import { leaseOperations } from './leases.ts'
import type { Operation } from './operation.ts'
import { policyOperations } from './policies.ts'
import { questionOperations } from './questions.ts'
import { receiptOperations, serverOperations } from './receipts.ts'
import { resultOperations } from './results.ts'
import { scheduleOperations } from './schedules.ts'
import { sessionOperations } from './sessions.ts'
import { taskTypeOperations } from './task-types.ts'
import { taskOperations } from './tasks.ts'
import { upstreamOperations } from './upstreams.ts'
import { workerOperations } from './workers.ts'

/** Every public operation. */
export const OPERATIONS: readonly Operation[] = [
  ...taskOperations,
  ...leaseOperations,
  ...questionOperations,
  ...resultOperations,
  ...receiptOperations,
  ...inboxOperations,
  ...scheduleOperations,
  ...taskTypeOperations,
  ...workerOperations,
  ...emailOperations,
  ...upstreamOperations,
  ...policyOperations,
  ...sessionOperations,
  ...serverOperations,
]

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}
