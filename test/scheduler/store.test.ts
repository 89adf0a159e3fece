import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FileScheduleStore, openScheduleStore } from '../../src/scheduler/store.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { MINUTE, START, schedule } from './support.ts'

let folder: string
let path: string
let store: FileScheduleStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'asyncgate-scheduler-'))
  path = join(folder, 'below', 'scheduler.db')
  store = await openScheduleStore(path)
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

const settled = (minutes: number) => ({
  settled_until: START + minutes * MINUTE,
  next_run_at: START + (minutes + 1) * MINUTE,
  due_at: START + (minutes + 1) * MINUTE,
  last_run_at: START + minutes * MINUTE,
  last_status: 'created',
})

describe('schedule store', () => {
  it('stored schedules are returned, also after a reopen', async () => {
    const interval = schedule()
    const cron = schedule({
      schedule_id: 's2',
      name: 'né "quoted"',
      timing: { mode: 'cron', cron_expr: '0 9 * * *', timezone: 'Europe/Berlin' },
      task_template: { type: 'x', payload_template: [{ a: '{{now}}' }], labels: { team: 'ops' } },
      jitter_seconds: 30,
      status: 'paused',
    })
    store.add(interval)
    store.add(cron)
    store.close()
    store = await openScheduleStore(path)
    expect(store.get('s1')).toEqual(interval)
    expect(store.get('s2')).toEqual(cron)
    expect(store.get('s3')).toBeUndefined()
  })

  it('a second schedule with the same id is ignored', () => {
    store.add(schedule())
    store.settle('s1', settled(3))
    store.add(schedule({ name: 'another' }))
    expect(store.get('s1')).toMatchObject({ name: 'minutely', last_run_at: START + 3 * MINUTE })
  })

  it('the schedules of one owner are listed in pages', () => {
    for (const n of [3, 1, 2]) store.add(schedule({ schedule_id: `s${n}` }))
    store.add(schedule({ schedule_id: 's4', owner: 'agent:bob' }))
    expect(store.list('agent:alice', '', 2).map((one) => one.schedule_id)).toEqual(['s1', 's2'])
    expect(store.list('agent:alice', 's2', 2).map((one) => one.schedule_id)).toEqual(['s3'])
    expect(store.count('agent:alice')).toBe(3)
    expect(store.count('agent:nobody')).toBe(0)
  })

  it('due and nextDueAt consider enabled schedules only', () => {
    store.add(schedule())
    store.add(schedule({ schedule_id: 's2', created_at: START - 30_000 }))
    store.add(schedule({ schedule_id: 's3', status: 'paused' }))
    store.add(schedule({ schedule_id: 's4', next_run_at: null, due_at: null }))
    expect(store.due(START + 29_999)).toEqual([])
    expect(store.due(START + MINUTE)).toEqual(['s2', 's1'])
    expect(store.nextDueAt(START)).toBe(START + 30_000)
    expect(store.nextDueAt(START + 30_000)).toBe(START + MINUTE)
    expect(store.nextDueAt(START + MINUTE)).toBeNull()
  })

  it('settle never moves back', () => {
    store.add(schedule())
    store.settle('s1', settled(5))
    store.settle('s1', { ...settled(4), last_status: 'duplicate' })
    expect(store.get('s1')).toMatchObject({ ...settled(5) })
  })

  it('failures and staleness are recorded', () => {
    store.add(schedule())
    store.note('s1', 'QUOTA_EXCEEDED')
    store.noteStale('s1', START + MINUTE)
    expect(store.get('s1')).toMatchObject({
      last_status: 'QUOTA_EXCEEDED',
      stale_run_at: START + MINUTE,
      last_run_at: null,
    })
  })

  it('only a paused schedule is resumed', () => {
    store.add(schedule())
    const { settled_until, next_run_at, due_at } = settled(7)
    store.resume('s1', { settled_until, next_run_at, due_at })
    expect(store.get('s1')).toEqual(schedule())
    store.pause('s1')
    expect(store.due(START + 60 * MINUTE)).toEqual([])
    store.resume('s1', { settled_until, next_run_at, due_at })
    expect(store.get('s1')).toMatchObject({ status: 'enabled', settled_until, next_run_at })
  })

  it('a removed schedule is gone', () => {
    store.add(schedule())
    store.remove('s1')
    store.remove('s1')
    expect(store.get('s1')).toBeUndefined()
  })

  it('two processes can share the file', async () => {
    const [second, third] = await Promise.all([openScheduleStore(path), openScheduleStore(path)])
    store.add(schedule())
    second.settle('s1', settled(1))
    third.settle('s1', settled(2))
    expect(store.get('s1')).toMatchObject(settled(2))
    second.close()
    third.close()
  })

  it('a file of a newer version is refused', async () => {
    const other = join(folder, 'newer.db')
    const database = await openDatabase(other)
    database.exec('PRAGMA user_version = 99')
    database.close()
    await expect(openScheduleStore(other)).rejects.toThrow(/its schema version is 99/)
  })
})
