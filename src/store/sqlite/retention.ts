import { retentionOn } from '../layout/retention.ts'
import { returnsRows, type Step, type Work } from '../layout/steps.ts'
import type { Retention } from '../retention.ts'
import { type Change, type Database, inTransaction, type Statement } from './database.ts'
import { attemptAvailable } from './failure.ts'

export function prepareRetention(reader: Database, writer: Database, change: Change): Retention {
  const read = prepareRun(reader)
  const write = prepareRun(writer)
  return retentionOn({
    read: async (_, work) => attemptAvailable(() => read(work())),
    change: async (_, work) => change(() => inTransaction(writer, () => write(work))),
  })
}

/** Runs work to its end. Each statement is prepared when it is first needed. */
function prepareRun(database: Database): <T>(work: Work<T>) => T {
  const prepared = new Map<string, Statement>()
  const run = ({ sql, values }: Step): readonly unknown[] => {
    const statement = prepared.get(sql) ?? database.prepare(sql)
    prepared.set(sql, statement)
    if (returnsRows(sql)) return statement.all(...values)
    statement.run(...values)
    return []
  }
  return (work) => {
    let next = work.next()
    while (!next.done) next = work.next(next.value.map(run))
    return next.value
  }
}
