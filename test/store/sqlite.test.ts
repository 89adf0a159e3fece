import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { describeStore } from './conformance.ts'

describeStore('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-sqlite-'))
  return {
    open: (options) => openSqliteStore({ path: join(folder, 'test.db'), ...options }),
    cleanup: async () => rmSync(folder, { recursive: true, force: true }),
  }
})
