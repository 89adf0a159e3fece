import type { FlowReads } from '../flow.ts'
import { flowReadsOn } from '../layout/flow-reads.ts'
import type { Database } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { prepareRun } from './work.ts'

export function prepareFlowReads(reader: Database): FlowReads {
  const run = prepareRun(reader)
  return flowReadsOn({ read: async (_, work) => attemptAvailable(() => run(work())) })
}
