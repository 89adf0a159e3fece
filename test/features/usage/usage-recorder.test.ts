import { describe, expect, it, onTestFinished } from 'vitest'
import { UsageRecorder } from '../../../src/features/usage/usage-recorder.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { HOUR_MS, type UsageEvent } from '../../../src/store/usage.ts'

const HOUR = Date.UTC(2026, 0, 2)

async function open({ intervalSeconds = 3600 } = {}) {
  const store = await openSqliteStore({ path: ':memory:' })
  onTestFinished(() => store.close())
  const clock = { now: HOUR }
  const written: UsageEvent[] = []
  const errors: unknown[] = []
  const database = { isDown: false }
  const usage = {
    ...store.usage,
    async add(event: UsageEvent, isUnsent: boolean) {
      if (database.isDown) throw new Error('down')
      await store.usage.add(event, isUnsent)
      written.push(event)
    },
  }
  const recorder = new UsageRecorder(
    {
      store: { usage, tenants: () => store.tenants() },
      settings: { instance_id: 'a' },
      tenant: (name) => store.tenant(name),
      report: (error) => errors.push(error),
    },
    { intervalSeconds, now: () => clock.now },
  )
  const { tenant } = await store.tenant('default')
  const created = (tasks: number) =>
    recorder.committed([{ tenant, tasks, lease_ms: 0, receipt_bytes: 10 * tasks }])
  return { store, recorder, clock, written, errors, database, tenant, created }
}

describe('the recorder of usage', () => {
  it('an event lies within one hour, also if nothing was written in between', async () => {
    const { recorder, clock, written, created } = await open()
    clock.now = HOUR + HOUR_MS - 1_000
    created(1)
    clock.now = HOUR + HOUR_MS + 500
    created(2)
    recorder.called('default')
    await recorder.flush()
    expect(written).toMatchObject([
      { tasks: 1, calls: 0, from_at: HOUR, to_at: HOUR + HOUR_MS, receipt_byte_seconds: 10 },
      { tasks: 2, calls: 1, from_at: HOUR + HOUR_MS + 500, to_at: HOUR + HOUR_MS + 500 },
    ])
    expect(written.map(({ id }) => id).toSorted()).toEqual(written.map(({ id }) => id))
  })

  it('nothing is written if nothing was counted', async () => {
    const { recorder, written, created } = await open()
    await recorder.flush()
    created(1)
    await recorder.flush()
    await recorder.flush()
    expect(written).toHaveLength(1)
  })

  it('while the database is down counts wait, and hours stay separate', async () => {
    const { recorder, clock, written, errors, database, created } = await open()
    database.isDown = true
    for (let minute = 0; minute < 120; minute += 5) {
      clock.now = HOUR + minute * 60_000
      created(1)
      await recorder.flush()
    }
    expect(errors).toHaveLength(24)
    database.isDown = false
    await recorder.flush()
    // The first write may have succeeded, so that later counts are not added to its event.
    expect(written.map(({ from_at, tasks }) => [(from_at - HOUR) / 60_000, tasks])).toEqual([
      [0, 1],
      [0, 11],
      [60, 12],
    ])
  })

  it('reads within a second of a write do not write again', async () => {
    const { recorder, clock, written, created } = await open()
    created(1)
    await recorder.refresh()
    created(1)
    await recorder.refresh()
    expect(written).toHaveLength(1)
    clock.now += 1_000
    await recorder.refresh()
    expect(written).toHaveLength(2)
  })

  it('a started recorder writes at intervals until it is stopped', async () => {
    const { recorder, written, created } = await open({ intervalSeconds: 0.02 })
    recorder.start()
    created(1)
    await expect.poll(() => written.length).toBe(1)
    created(2)
    await expect.poll(() => written.length).toBe(2)
    created(3)
    await recorder.stop()
    expect(written.map(({ tasks }) => tasks)).toEqual([1, 2, 3])
  })

  it('counts that cannot be written when the server stops are reported as lost', async () => {
    const { recorder, errors, database, created } = await open()
    database.isDown = true
    created(1)
    await recorder.stop()
    expect(errors.map(String)).toEqual([
      'Error: down',
      'Error: the usage since the last write could not be stored',
    ])
  })
})
