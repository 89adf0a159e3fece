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

type Login = (url: string) => string | Promise<string>

describeOn('PostgreSQL as superuser', (url) => url)
describeOn('PostgreSQL under row-level security', restrictedRole)

/** One database for all tests, emptied after each, since creating a new one takes longer than the tests. */
function describeOn(name: string, login: Login): void {
  describe.skipIf(!postgresUrl())(name, () => {
    let database: FreshDatabase
    let url: string
    beforeAll(async () => {
      database = await freshDatabase('conformance')
      url = await login(database.url)
    })
    afterAll(() => database.drop())

    describeStore('store', async () => ({
      open: (options) => openPostgresStore({ url, ...options }),
      cleanup: () => emptyDatabase(database.url),
    }))
  })
}
