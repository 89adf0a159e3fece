import { describe, expect, it } from 'vitest'
import { FailureCounts } from '../../../src/features/audit/failure-counts.ts'
import type { AuditEvent } from '../../../src/features/audit/port.ts'

const failure = (ip: string, members: Partial<AuditEvent> = {}): AuditEvent => ({
  event: 'auth_failure',
  tenant: 'default',
  reason: 'invalid',
  origin: { request_id: 'r', ip, user_agent: 'curl', forwarded_for: null },
  ...members,
})

const MINUTE = 60_000

describe('counts of failures', () => {
  it('a flood from one address becomes one event and a count', () => {
    const counts = new FailureCounts()
    const admitted = Array.from({ length: 10_000 }, (_, i) =>
      counts.admit(failure('1.2.3.4', { principal: `agent:${i}` }), i),
    ).filter((event) => event !== undefined)
    expect(admitted).toEqual([failure('1.2.3.4', { principal: 'agent:0' })])
    expect(counts.take(MINUTE - 1)).toEqual([])
    const [count, ...more] = counts.take(MINUTE)
    expect(more).toEqual([])
    expect(count).toMatchObject({
      event: 'auth_failure',
      origin: { ip: '1.2.3.4', user_agent: 'curl', request_id: null },
      details: { count: 9_999, seconds: 10, reasons: ['invalid'] },
    })
    expect(count?.details?.principals).toHaveLength(10)
    expect(counts.isEmpty).toBe(true)
  })

  it('each address, event and tenant is counted separately', () => {
    const counts = new FailureCounts()
    const events = [
      failure('1.1.1.1'),
      failure('2.2.2.2'),
      failure('1.1.1.1', { event: 'authorization_failure' }),
      failure('1.1.1.1', { tenant: 'acme' }),
    ]
    expect(events.map((event) => counts.admit(event, 0))).toEqual(events)
    expect(counts.take(MINUTE)).toEqual([])
  })

  it('the next minute begins with an event again', () => {
    const counts = new FailureCounts()
    counts.admit(failure('1.1.1.1'), 0)
    counts.take(MINUTE)
    expect(counts.admit(failure('1.1.1.1'), MINUTE)).toBeDefined()
  })

  it('failures of very many addresses add a bounded number of events', () => {
    const counts = new FailureCounts()
    const admitted = Array.from({ length: 5_000 }, (_, i) => counts.admit(failure(`10.0.${i}`), 0)).filter(
      (event) => event !== undefined,
    )
    expect(admitted).toHaveLength(100)
    expect(counts.take(0, true)).toMatchObject([{ reason: 'many_addresses', details: { count: 4_900 } }])
  })

  it('successes are never counted together', () => {
    const counts = new FailureCounts()
    const success = failure('1.1.1.1', { event: 'admin_action' })
    expect([counts.admit(success, 0), counts.admit(success, 0)]).toEqual([success, success])
    expect(counts.isEmpty).toBe(true)
  })
})
