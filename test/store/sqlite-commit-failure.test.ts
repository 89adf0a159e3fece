import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { type Driver, sqliteDriver } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { counters, put } from '../support/fixtures.ts'
import { agent } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'

/** An error as better-sqlite3 reports it. */
class DiskError extends Error {
  readonly code: string

  constructor(code: string) {
    super('disk I/O error')
    this.code = code
  }
}

type Fault = { readonly code: string; readonly reaches: 'the disk' | 'nothing' }

/** SQLite on a failing disk. */
class FailingDisk {
  /** The fault of the next COMMIT. */
  fault: Fault | undefined
  /** Whether every open fails. */
  isGone = false
  opened = 0

  async driver(): Promise<Driver> {
    const real = await sqliteDriver()
    return (path) => {
      if (this.isGone) throw new DiskError('SQLITE_CANTOPEN')
      this.opened += 1
      const database = real(path)
      const exec = (sql: string) => {
        const { fault } = this
        if (sql !== 'COMMIT' || fault === undefined) return database.exec(sql)
        this.fault = undefined
        if (fault.reaches === 'the disk') database.exec(sql)
        throw new DiskError(fault.code)
      }
      return {
        exec,
        prepare: (sql) => database.prepare(sql),
        prepareArrays: (sql) => database.prepareArrays(sql),
        close: () => database.close(),
      }
    }
  }
}

describe('failing COMMIT of SQLite', () => {
  let folder: string
  let disk: FailingDisk
  let store: Store

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'asyncgate-disk-'))
    disk = new FailingDisk()
    store = await openSqliteStore({ path: join(folder, 'gate.db'), driver: await disk.driver() })
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const raise = async (seq: number) => {
    const ref = await store.tenant('test')
    await put(store, ref.tenant, { tenants: [counters(ref, { seq })] })
  }
  const storedSeq = async () => (await store.reads.counters((await store.tenant('test')).tenant)).seq

  it.each([
    ['although it reached the disk', { code: 'SQLITE_IOERR_FSYNC', reaches: 'the disk' }, 2],
    ['and left nothing', { code: 'SQLITE_IOERR_FSYNC', reaches: 'nothing' }, 1],
  ] as const)(
    'a COMMIT with a disk error has an unknown outcome until the file is opened again, %s',
    async (_, fault, seq) => {
      await raise(1)
      const before = disk.opened
      disk.fault = fault
      await expect(raise(2)).rejects.toMatchObject({ reason: 'unknown' })
      expect(await storedSeq()).toBe(seq)
      expect(disk.opened).toBe(before + 2)
      await raise(3)
      expect(await storedSeq()).toBe(3)
      expect(disk.opened).toBe(before + 2)
    },
  )

  it.each(['SQLITE_BUSY', 'SQLITE_FULL'])('a COMMIT with %s has written nothing', async (code) => {
    await raise(1)
    const before = disk.opened
    disk.fault = { code, reaches: 'nothing' }
    await expect(raise(2)).rejects.toMatchObject({ reason: 'unavailable' })
    expect(await storedSeq()).toBe(1)
    expect(disk.opened).toBe(before)
  })

  it('everything is unavailable until the file can be opened again', async () => {
    await raise(1)
    const { tenant } = await store.tenant('test')
    disk.fault = { code: 'SQLITE_IOERR_FSYNC', reaches: 'nothing' }
    disk.isGone = true
    await expect(raise(2)).rejects.toMatchObject({ reason: 'unknown' })
    await expect(raise(2)).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.reads.counters(tenant)).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.entries.get(tenant, 'x', 'x')).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.ping()).rejects.toMatchObject({ reason: 'unavailable' })
    disk.isGone = false
    await store.ping()
    expect(await storedSeq()).toBe(1)
  })

  it.each(['the disk', 'nothing'] as const)(
    'a failed COMMIT is reported as OUTCOME_UNKNOWN, and repeating the request is safe, if it reached %s',
    async (reaches) => {
      const gate = openGate({ store, sweeping: false })
      const request = { type: 'x', idempotency_key: 'k' }
      disk.fault = { code: 'SQLITE_IOERR_FSYNC', reaches }
      await expect(gate.createTask(agent(), request)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
      const again = await gate.createTask(agent(), request)
      expect(again.is_duplicate).toBe(reaches === 'the disk')
      expect((await gate.listTasks(agent())).tasks.map((task) => task.task_id)).toEqual([again.task_id])
      expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
      await gate.close()
    },
  )
})
