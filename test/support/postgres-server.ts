import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-process.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string | undefined
  }
}

/** Commits do not wait for the disk. Tests that crash PostgreSQL start their own server, with the settings of production. */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '512MB' }

/** One PostgreSQL for the whole run: the one of ASYNCGATE_TEST_POSTGRES_URL, or a new one. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.ASYNCGATE_TEST_POSTGRES_URL
  if (given) {
    project.provide('postgresUrl', given)
    return undefined
  }
  try {
    const postgres = await startPostgres({ settings })
    project.provide('postgresUrl', postgres.url)
    return postgres.remove
  } catch (error) {
    if (process.env.CI) throw error
    warn(error)
    return undefined
  }
}

function warn(error: unknown): void {
  const line = '!'.repeat(100)
  console.warn(`
${line}
!!  PostgreSQL could not start: ALL POSTGRESQL TESTS ARE SKIPPED.
!!  Set ASYNCGATE_TEST_POSTGRES_URL to the URL of a superuser to run them on a server of yours.
!!
${String(error).trim().replace(/^/gm, '!!  ')}
${line}
`)
}
