import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import {
  emptyDatabase,
  type FreshDatabase,
  freshDatabase,
  postgresUrl,
  restrictedRole,
} from '../support/postgres.ts'
import { describeStore } from './conformance.ts'

// The suites of features run as the owner of the database, who can do more.
describe.skipIf(!postgresUrl())('PostgreSQL under row-level security', () => {
  let database: FreshDatabase
  let url: string
  // One database for all tests, emptied after each, since creating a new one takes longer than the tests.
  beforeAll(async () => {
    database = await freshDatabase('conformance')
    url = await restrictedRole(database.url)
  })
  afterAll(() => database.drop())

  describeStore('store', async () => ({
    open: (options) => openPostgresStore({ url, ...options }),
    cleanup: () => emptyDatabase(database.url),
  }))
})
