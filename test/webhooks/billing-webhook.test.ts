import { expect, it } from 'vitest'
import { BillingWebhook } from '../../src/webhooks/billing-webhook.ts'
import { postTo } from '../../src/webhooks/post.ts'
import { usageEvent } from '../store/conformance/usage.ts'
import { type Bench, describeGates } from '../support/gates.ts'
import { at } from '../support/steps.ts'
import { startBillingReceiver } from './billing-receiver.ts'
import { SECRET } from './receiver.ts'

/** Settings with which the egress guard allows the local receiver. */
const LOOPBACK = { allow_http: true, allowed_ports: 'any', allowed_private: ['127.0.0.1'] } as const

type Line = readonly [message: string, fields: Readonly<Record<string, unknown>>]

function webhookOn({ store }: Bench, url: string, egress: object = LOOPBACK) {
  const lines: Line[] = []
  const clock = { now: Date.now() }
  const note = (fields: object, message: string) => lines.push([message, { ...fields }])
  const webhook = new BillingWebhook({
    store,
    post: postTo({ url, secret: SECRET, egress, isGuarded: true }),
    log: { warn: note, error: note },
    now: () => clock.now,
  })
  return { webhook, lines, clock, sweep: (signal = new AbortController().signal) => webhook.sweep(signal) }
}

/** Adds events to the queue of a tenant. */
async function queue({ store }: Bench, name: string, ...numbers: number[]): Promise<void> {
  const { tenant } = await store.tenant(name)
  for (const n of numbers)
    await store.usage.add(usageEvent(tenant, n, { id: `${name}-${n}`, tasks: n }), true)
}

describeGates('the billing webhook', (open) => {
  it('the webhook sends each event once, signed and in order per tenant', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    const { sweep, lines } = webhookOn(bench, receiver.url)
    await queue(bench, 'acme', 1, 2, 3)
    await queue(bench, 'default', 7)
    await sweep()
    await sweep()
    const of = (tenant: string) =>
      receiver.accepted.filter(({ tenant_id }) => tenant_id === tenant).map(({ tasks }) => tasks)
    expect(of('acme')).toEqual([1, 2, 3])
    expect(of('default')).toEqual([7])
    expect(receiver.ids).toEqual(receiver.accepted.map(({ usage_event_id }) => usage_event_id))
    expect(at(receiver.accepted, 0)).toMatchObject({ lease_ms: 20, receipt_bytes: 300, calls: 5 })
    expect({ lines, unsigned: receiver.unsigned }).toEqual({ lines: [], unsigned: 0 })
  })

  it('a receiver that fails at first gets each event in the end, after growing pauses', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    const { sweep, lines, clock } = webhookOn(bench, receiver.url)
    await queue(bench, 'default', 1, 2)
    receiver.statuses = [500, 302, 429]
    await sweep()
    await sweep()
    expect(receiver.ids).toHaveLength(1)
    for (const pause of [10_000, 20_000, 40_000]) {
      clock.now += pause - 1
      await sweep()
      clock.now += 1
      const before = receiver.ids.length
      await sweep()
      expect(receiver.ids.length).toBeGreaterThan(before)
    }
    expect(receiver.ids).toEqual(['default-1', 'default-1', 'default-1', 'default-1', 'default-2'])
    expect(receiver.accepted.map(({ tasks }) => tasks)).toEqual([1, 2])
    expect(new Set(receiver.bodies).size).toBe(2)
    expect(lines.map(([, { failures }]) => failures)).toEqual([1, 2, 3])
    await queue(bench, 'default', 3)
    receiver.statuses = [500]
    await sweep()
    expect(lines.at(-1)?.[1]).toMatchObject({ failures: 1 })
  })

  it('an event whose response is lost arrives again with the same id', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    const { sweep, clock } = webhookOn(bench, receiver.url)
    await queue(bench, 'default', 1)
    receiver.breaksAfterwards = true
    await sweep()
    receiver.breaksAfterwards = false
    clock.now += 10_000
    await sweep()
    await sweep()
    expect(receiver.ids).toEqual(['default-1', 'default-1'])
  })

  it('an event that one tenant cannot deliver does not hold up other tenants', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    const { sweep } = webhookOn(bench, receiver.url)
    await queue(bench, 'acme', 1)
    await queue(bench, 'default', 2)
    receiver.statuses = [500]
    await sweep()
    await sweep()
    expect(receiver.accepted).toHaveLength(1)
  })

  it('two servers do not send an event at the same time', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    const [one, two] = [webhookOn(bench, receiver.url), webhookOn(bench, receiver.url)]
    await queue(bench, 'default', 1, 2, 3, 4, 5)
    await Promise.all([one.sweep(), two.sweep()])
    await Promise.all([one.sweep(), two.sweep()])
    expect(receiver.ids).toEqual([1, 2, 3, 4, 5].map((n) => `default-${n}`))
  })

  it('another server takes over after a minute if the sender was killed', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    await queue(bench, 'default', 1)
    const { store } = bench
    const killed = new BillingWebhook({
      store: {
        tenants: () => store.tenants(),
        entries: store.entries,
        usage: { ...store.usage, sent: () => Promise.reject(new Error('killed')) },
      },
      post: postTo({ url: receiver.url, secret: SECRET, egress: LOOPBACK, isGuarded: true }),
      log: { warn: () => {}, error: () => {} },
    })
    await expect(killed.sweep(new AbortController().signal)).rejects.toThrow('killed')
    const { sweep, clock } = webhookOn(bench, receiver.url)
    await sweep()
    expect(receiver.ids).toHaveLength(1)
    clock.now += 61_000
    await sweep()
    expect(receiver.ids).toEqual(['default-1', 'default-1'])
  })

  it('a stopped server leaves its events to the next one', async () => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    await queue(bench, 'default', 1)
    await webhookOn(bench, receiver.url).sweep(AbortSignal.abort())
    expect(receiver.ids).toEqual([])
    await webhookOn(bench, receiver.url).sweep()
    expect(receiver.accepted).toHaveLength(1)
  })

  it.each([
    ['a private address', { allow_http: true, allowed_ports: 'any' }],
    ['http', { allowed_ports: 'any', allowed_private: ['127.0.0.1'] }],
    ['another port than 80 and 443', { allow_http: true, allowed_private: ['127.0.0.1'] }],
  ])('the egress guard refuses %s unless it is allowed', async (_, egress) => {
    const bench = await open()
    const receiver = await startBillingReceiver()
    await queue(bench, 'default', 1)
    const { sweep, lines } = webhookOn(bench, receiver.url, egress)
    await sweep()
    expect(receiver.ids).toEqual([])
    expect(lines).toMatchObject([['a billing webhook was not accepted; trying again', { tenant: 'default' }]])
  })
})
