import { leaseOperations } from './leases.ts'
import type { Operation } from './operation.ts'
import { receiptOperations, serverOperations } from './receipts.ts'
import { taskOperations } from './tasks.ts'

/** Every public operation. */
export const OPERATIONS: readonly Operation[] = [
  ...taskOperations,
  ...leaseOperations,
  ...receiptOperations,
  ...serverOperations,
]

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}
