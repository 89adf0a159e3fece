import type pg from 'pg'
import type { Step, Work } from '../layout/steps.ts'
import { pipelined, run, settled } from './database.ts'

/** Runs work to its end. */
export async function drive<T>(client: pg.PoolClient, work: Work<T>): Promise<T> {
  for (let next = work.next(); ; ) {
    if (next.done) return next.value
    const steps = next.value
    next = work.next(await pipelined(client, () => settled(steps.map((step) => send(client, step)))))
  }
}

const names = new Map<string, string>()

/** Each text is prepared once per connection. There are few of them. */
function send(client: pg.PoolClient, { sql, values }: Step): Promise<unknown[]> {
  const name = names.get(sql) ?? `work_${names.size}`
  names.set(sql, name)
  let count = 0
  const text = sql.replaceAll('?', () => `$${++count}`)
  return run(client, { name, text }, values)
}
