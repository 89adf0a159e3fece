import { retentionOn } from '../layout/retention.ts'
import type { Retention } from '../retention.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { prepareRun } from './work.ts'

export function prepareRetention(reader: Database, writer: Database, change: Change): Retention {
  const read = prepareRun(reader)
  const write = prepareRun(writer)
  return retentionOn({
    read: async (_, work) => attemptAvailable(() => read(work())),
    change: async (_, work) => change(() => inTransaction(writer, () => write(work))),
  })
}
