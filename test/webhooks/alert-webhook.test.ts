import { expect, it } from 'vitest'
import type { AuditRow } from '../../src/store/audit.ts'
import { AlertQueue } from '../../src/webhooks/alert-queue.ts'
import { AlertWebhook, QUIET_MS } from '../../src/webhooks/alert-webhook.ts'
import { MAX_ATTEMPTS } from '../../src/webhooks/retry-policy.ts'
import { type Bench, describeGates } from '../support/gates.ts'
import { at } from '../support/steps.ts'

const START = Date.UTC(2026, 10, 16)

interface Received {
  readonly id: string
  readonly body: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A sender whose receiver is a function. */
async function senderOn({ store }: Pick<Bench, 'store'>, clock = { now: START }) {
  const { tenant } = await store.tenant('default')
  const received: Received[] = []
  const lines: [string, object][] = []
  const receiver = { isBroken: false }
  const queue = new AlertQueue(store, tenant, () => clock.now)
  const webhook = new AlertWebhook({
    queue,
    async post({ id, body }) {
      received.push({ id, body, data: JSON.parse(body).data })
      if (receiver.isBroken) throw new Error('it responded with 500')
    },
    log: {
      warn: (fields, text) => lines.push([text, fields]),
      error: (fields, text) => lines.push([text, fields]),
    },
    now: () => clock.now,
  })
  const sweep = (signal = new AbortController().signal) => webhook.sweep(signal)
  return { queue, received, receiver, lines, clock, sweep }
}

let rows = 0

function row(over: Partial<AuditRow> = {}): AuditRow {
  rows++
  return {
    ...{ tenant: 1, id: `row-${rows}`, at: START + rows, event: 'cross_tenant_attempt' },
    ...{ severity: 'critical', outcome: 'failure', principal: 'agent:eve', subject: 'acme' },
    ...{ reason: 'no', ip: '198.51.100.7', user_agent: null, request_id: null, key_id: 'k1', details: '{}' },
    ...over,
  }
}

describeGates('the alert webhook', (open) => {
  it('the first event is sent at once, and those of the next minutes as one alert', async () => {
    const { queue, received, clock, sweep } = await senderOn(await open())
    const first = row({ reason: 'hidden \u202e text' })
    await queue.add('beta', [first])
    await sweep()
    expect(received).toMatchObject([
      {
        id: first.id,
        data: {
          alert_id: first.id,
          tenant_id: 'beta',
          event: 'cross_tenant_attempt',
          severity: 'critical',
          count: 1,
          first: { principal: 'agent:eve', subject: 'acme', ip: '198.51.100.7', key_id: 'k1' },
        },
      },
    ])
    expect(at(received, 0).body).toContain('hidden \\u202e text')
    const next = row()
    await queue.add('beta', [next, row({ details: '{"count":40}' })])
    for (let n = 0; n < 100; n++) await queue.add('beta', [row()])
    clock.now += QUIET_MS - 1
    await sweep()
    expect(received).toHaveLength(1)
    clock.now += 1
    await sweep()
    await sweep()
    expect(received).toHaveLength(2)
    expect(at(received, 1)).toMatchObject({ id: next.id, data: { count: 141, first: { id: next.id } } })
    clock.now += QUIET_MS * 3
    await sweep()
    expect(received).toHaveLength(2)
  })

  it('events and tenants are reported separately', async () => {
    const { queue, received, sweep } = await senderOn(await open())
    await queue.add('beta', [row(), row({ event: 'token_reused' }), row()])
    await queue.add('acme', [row()])
    await sweep()
    const reported = received.map(({ data }) => [data.tenant_id, data.event, data.count])
    expect(reported.toSorted()).toEqual([
      ['acme', 'cross_tenant_attempt', 1],
      ['beta', 'cross_tenant_attempt', 2],
      ['beta', 'token_reused', 1],
    ])
  })

  it('an alert that is refused is repeated unchanged, after growing pauses, and by the next server', async () => {
    const bench = await open()
    const { queue, received, receiver, clock, sweep, lines } = await senderOn(bench)
    receiver.isBroken = true
    await queue.add('beta', [row()])
    await sweep()
    for (const pause of [5_000, 10_000, 20_000]) {
      await queue.add('beta', [row()])
      clock.now += pause - 1
      const before = received.length
      await sweep()
      expect(received).toHaveLength(before)
      clock.now += 1
      await sweep()
      expect(received).toHaveLength(before + 1)
    }
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    expect(lines.map(([, fields]) => fields)).toMatchObject([1, 2, 3, 4].map((attempts) => ({ attempts })))
    clock.now += 40_000
    const restarted = await senderOn(bench, clock)
    await restarted.sweep()
    clock.now += QUIET_MS
    await restarted.sweep()
    expect(restarted.received).toMatchObject([{ body: at(received, 0).body }, { data: { count: 3 } }])
  })

  it('an alert is dropped after many attempts, and later ones are sent', async () => {
    const { queue, received, receiver, clock, sweep, lines } = await senderOn(await open())
    receiver.isBroken = true
    await queue.add('beta', [row()])
    for (let n = 0; n < MAX_ATTEMPTS + 3; n++) {
      await sweep()
      clock.now += 3_600_000
    }
    expect(received).toHaveLength(MAX_ATTEMPTS)
    expect(lines.at(-1)).toMatchObject(['a security alert is dropped', { tenant: 'beta' }])
    receiver.isBroken = false
    await queue.add('beta', [row()])
    await sweep()
    expect(received).toHaveLength(MAX_ATTEMPTS + 1)
  })

  it('two servers send an alert once and count all events', async () => {
    const bench = await open()
    const clock = { now: START }
    const [one, two] = [await senderOn(bench, clock), await senderOn(bench, clock)]
    await Promise.all([one, two, one, two, one, two].map(({ queue }) => queue.add('beta', [row()])))
    await Promise.all([one.sweep(), two.sweep()])
    const all = [...one.received, ...two.received]
    expect(all).toMatchObject([{ data: { count: 6 } }])
  })

  it('another server takes over after a minute if the sender was killed', async () => {
    const bench = await open()
    const { queue, clock, sweep } = await senderOn(bench)
    await queue.add('beta', [row()])
    const update = queue.update.bind(queue)
    let updates = 0
    queue.update = (name, change) => {
      updates++
      return updates > 1 ? Promise.reject(new Error('killed')) : update(name, change)
    }
    await expect(sweep()).rejects.toThrow('killed')
    const next = await senderOn(bench, clock)
    await next.sweep()
    const early = next.received.length
    clock.now += 61_000
    await next.sweep()
    expect([early, next.received.length]).toEqual([0, 1])
  })

  it('a stopped server leaves its alerts to the next one', async () => {
    const bench = await open()
    const stopped = await senderOn(bench)
    await stopped.queue.add('beta', [row()])
    await stopped.sweep(AbortSignal.abort())
    expect(stopped.received).toEqual([])
    const next = await senderOn(bench, stopped.clock)
    await next.sweep()
    expect(next.received).toHaveLength(1)
  })
})
