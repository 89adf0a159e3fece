import { returnsRows, type Step, type Work } from '../layout/steps.ts'
import type { Database, Statement } from './database.ts'

/** Runs work to its end. Each statement is prepared when it is first needed. */
export function prepareRun(database: Database): <T>(work: Work<T>) => T {
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
