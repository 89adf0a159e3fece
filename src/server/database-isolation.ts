import type { Database } from '../config/database.ts'
import type { ServerValues } from '../config/server.ts'
import type { IsolationProblem } from '../store/postgres/isolation.ts'
import { OperatorError } from './operator-error.ts'

/** Why the database would not keep tenants apart by itself. An SQLite file has no roles, so the statements alone do. */
export async function findIsolationProblems(database: Database): Promise<IsolationProblem[]> {
  if (database.kind === 'sqlite') return []
  const [{ connectTo, end }, { isolationProblems }] = await Promise.all([
    import('../store/postgres/database.ts'),
    import('../store/postgres/isolation.ts'),
  ])
  const connections = connectTo(database.url)
  try {
    const client = await connections.client()
    try {
      return await isolationProblems(client)
    } finally {
      await end(client)
    }
  } finally {
    await connections.pool.end()
  }
}

/** Refuses a database that would not keep tenants apart by itself; in development it only warns. */
export async function requireIsolation(
  database: Database,
  { env }: Pick<ServerValues, 'env'>,
  warn: (text: string) => void,
): Promise<void> {
  for (const { message, fix } of await findIsolationProblems(database)) {
    if (env !== 'development') throw new OperatorError('failed', message, fix)
    warn(`${message} ${fix} Staging and production refuse to start with it.`)
  }
}
