import type { FlowReads } from '../flow.ts'
import { flowReadsOn } from '../layout/flow-reads.ts'
import { readTenant } from './borrow.ts'
import type { Pooled } from './database.ts'
import { drive } from './work.ts'

export function postgresFlowReads(pooled: Pooled): FlowReads {
  return flowReadsOn({
    read: (tenant, work) => readTenant(pooled, tenant, (client) => drive(client, work())),
  })
}
