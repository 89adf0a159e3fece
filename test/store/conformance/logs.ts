import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { LogLine } from '../../../src/store/entries.ts'
import { done, NOW, put, queued, uuid, WEIRD_TEXTS } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeLogs(subject: Subject): void {
  describe('task logs', () => {
    const line = (n: number, members: Partial<LogLine> = {}): LogLine => ({
      tenant: subject.tenant,
      task_id: uuid(1),
      n,
      at: NOW + n,
      lease_id: uuid(9),
      level: 'info',
      text: `line ${n}`,
      context: null,
      total: n,
      is_last: false,
      ...members,
    })

    it('log lines are returned as written, oldest first', async () => {
      const { logs } = subject.store
      expect(await logs.last(subject.tenant, uuid(1))).toBeUndefined()
      const lines = [
        line(1),
        line(2, { level: 'error', context: canonical({ a: [1] }) }),
        line(3, { is_last: true }),
      ]
      expect(await logs.add(lines)).toBe(true)
      expect(await logs.list(subject.tenant, uuid(1), 0, 10)).toEqual(lines)
      expect(await logs.list(subject.tenant, uuid(1), 1, 1)).toEqual(lines.slice(1, 2))
      expect(await logs.last(subject.tenant, uuid(1))).toEqual(lines[2])
      expect(await logs.list(subject.tenant, uuid(2), 0, 10)).toEqual([])
      await subject.reopen()
      expect(await subject.store.logs.list(subject.tenant, uuid(1), 0, 10)).toEqual(lines)
    })

    it('log lines store any text', async () => {
      const lines = WEIRD_TEXTS.map((text, i) => line(i + 1, { text, context: canonical({ text }) }))
      await subject.store.logs.add(lines)
      const found = await subject.store.logs.list(subject.tenant, uuid(1), 0, 1_000)
      expect(found).toEqual(lines)
    })

    it('log lines are added all or none', async () => {
      const { logs } = subject.store
      await logs.add([line(1), line(2)])
      expect(await logs.add([line(2, { text: 'other' }), line(3, { text: 'other' })])).toBe(false)
      expect(await logs.list(subject.tenant, uuid(1), 0, 10)).toEqual([line(1), line(2)])
    })

    it('log lines belong to one tenant', async () => {
      const { tenant } = await subject.store.tenant('another')
      await subject.store.logs.add([line(1)])
      await subject.store.logs.add([line(1, { tenant, text: 'theirs' })])
      expect(await subject.store.logs.list(subject.tenant, uuid(1), 0, 10)).toEqual([line(1)])
    })

    it('a malformed task id has no log lines', async () => {
      expect(await subject.store.logs.last(subject.tenant, 'x')).toBeUndefined()
      expect(await subject.store.logs.list(subject.tenant, 'x', 0, 10)).toEqual([])
    })
  })

  describe('state of a task', () => {
    it('state returns an open or an ended task', async () => {
      const { store, tenant } = subject
      await put(store, tenant, {
        inserted: [queued({ tenant, seq: 1 })],
        finished: [done({ tenant, seq: 2 })],
      })
      expect(await store.reads.state(tenant, uuid(1))).toEqual(queued({ tenant, seq: 1 }))
      expect(await store.reads.state(tenant, uuid(2))).toEqual(done({ tenant, seq: 2 }))
      expect(await store.reads.state(tenant, uuid(3))).toBeUndefined()
      expect(await store.reads.state(tenant, 'x')).toBeUndefined()
    })
  })
}
