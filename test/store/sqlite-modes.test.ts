import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openScheduleStore } from '../../src/scheduler/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe.skipIf(process.platform === 'win32')('files of a SQLite database', () => {
  let folder: string
  let umask: number
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'asyncgate-modes-'))
    umask = process.umask(0o022)
  })
  afterEach(() => {
    process.umask(umask)
    rmSync(folder, { recursive: true, force: true })
  })

  const modes = (where: string) =>
    Object.fromEntries(readdirSync(where).map((name) => [name, modeOf(join(where, name))]))

  it('database files and the created folder are accessible only to their owner', async () => {
    const made = join(folder, 'a', 'b')
    const store = await openSqliteStore({ path: join(made, 'gate.db') })
    await store.tenant('test')
    expect(Object.keys(modes(made))).toEqual(
      expect.arrayContaining(['gate.db', 'gate.db-wal', 'gate.db-shm', 'gate.db-lock']),
    )
    expect(new Set(Object.values(modes(made)))).toEqual(new Set(['600']))
    expect([modeOf(made), modeOf(join(folder, 'a'))]).toEqual(['700', '700'])
    await store.close()
  })

  it('files of the scheduler database are accessible only to their owner', async () => {
    const made = join(folder, 'made')
    const store = await openScheduleStore(join(made, 'scheduler.db'))
    expect(modes(made)['scheduler.db']).toBe('600')
    expect(new Set(Object.values(modes(made)))).toEqual(new Set(['600']))
    expect(modeOf(made)).toBe('700')
    store.close()
  })

  it('readable files are restricted to their owner, and an existing folder keeps its mode', async () => {
    const path = join(folder, 'gate.db')
    chmodSync(folder, 0o755)
    await (await openSqliteStore({ path })).close()
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
    const store = await openSqliteStore({ path })
    await store.tenant('test')
    expect(new Set(Object.values(modes(folder)))).toEqual(new Set(['600']))
    expect(modeOf(folder)).toBe('755')
    await store.close()
  })
})
