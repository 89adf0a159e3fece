import { devNull } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '../../src/config/index.ts'
import { testGate } from '../../src/testing/index.ts'
import { signedHeaders } from '../../src/util/webhook-signature.ts'
import { task } from '../../src/worker/index.ts'
import { MARIAS_KEY } from '../oauth/fake-browser.ts'
import { database, serve } from '../oauth/support.ts'
import { admin } from '../support/gates.ts'
import { soon } from '../support/steps.ts'
import { startReceiver, startReceiverOf } from './receiver.ts'
import { SECRET, startTaskReceiver } from './task-receiver.ts'

const KEY = Buffer.from('thirty-two bytes for the secret!')

describe('a server with an approval webhook', () => {
  it('the server announces the question of a worker, with a secret in the Standard Webhooks format', async () => {
    const receiver = await startReceiver(KEY)
    const job = task('job', { run: (_, ctx) => ctx.approval({ title: 'Go on?' }) })
    const t = await testGate({
      tasks: [job],
      settings: {
        approval_webhook_url: receiver.url,
        approval_webhook_secret: `whsec_${KEY.toString('base64')}`,
      },
    })
    onTestFinished(() => t.close())
    const { id } = await t.client.submit('job')
    await t.drain()
    await soon(receiver.until(1))
    await t.approve(id)
    await soon(receiver.until(2))
    expect(receiver.taken.map(({ id }) => id)).toEqual([`${id}.1.asked`, `${id}.1.decided`])
    expect(receiver.refused).toEqual([])
  })

  it.each(['APPROVAL', 'BILLING', 'ALERT'])(
    'the server does not start without a secret of the %s webhook',
    (name) => {
      for (const secret of [undefined, 'short']) {
        const env = {
          [`ASYNCGATE_${name}_WEBHOOK_URL`]: 'https://hooks.example/webhook',
          ...(secret && { [`ASYNCGATE_${name}_WEBHOOK_SECRET`]: secret }),
        }
        const { refusals } = loadConfig({ env, file: devNull })
        expect(refusals).toEqual([expect.stringContaining(`ASYNCGATE_${name}_WEBHOOK_SECRET`)])
      }
    },
  )
})

describe('a server with an alert webhook', () => {
  it.each(['SQLite', 'PostgreSQL'] as const)(
    'the server reports an attempt to name another tenant, and counts it, on %s',
    async (kind) => {
      const receiver = await startReceiverOf(z.looseObject({ event: z.string(), tenant_id: z.string() }))
      const server = await serve({
        ...(await database(kind)),
        ASYNCGATE_ALERT_WEBHOOK_URL: receiver.url,
        ASYNCGATE_ALERT_WEBHOOK_SECRET: SECRET,
      })
      const principal = { kind: 'agent', id: 'eve' }
      const { key } = await server.gate.createKey(admin('beta'), { principal, role: 'agent' })
      const send = (path: string, credential: string) =>
        fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${credential}` } })
      const refused = await Promise.all(
        Array.from({ length: 20 }, () => send('/v1/tasks?tenant_id=acme', key)),
      )
      expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([403]))
      const [alert] = await soon(receiver.until(1))
      expect(alert).toMatchObject({
        type: 'security.alert',
        data: {
          tenant_id: 'beta',
          event: 'cross_tenant_attempt',
          first: { principal: 'agent:eve', subject: 'acme', ip: '127.0.0.1' },
        },
      })
      expect(receiver).toMatchObject({ taken: { length: 1 }, refused: [] })
      const metrics = await (await send('/metrics', MARIAS_KEY)).text()
      expect(metrics).toContain(
        'asyncgate_audit_events_total{event="cross_tenant_attempt",severity="critical"} 20',
      )
      expect(metrics).toContain('asyncgate_audit_events_total{event="token_reused",severity="critical"} 0')
    },
  )
})

describe('a server with completion webhooks', () => {
  it('the server sends the message of an ended task and counts it in its metrics', async () => {
    const receiver = await startTaskReceiver()
    const t = await testGate({
      tasks: [task('job', { run: () => 1 })],
      settings: {
        task_webhook_secret: SECRET,
        egress_allow_http: true,
        egress_ports: new URL(receiver.url).port,
        egress_private: '127.0.0.1',
      },
    })
    onTestFinished(() => t.close())
    const { id } = await t.client.submit('job', {}, { webhook_url: receiver.url })
    await t.drain()
    await expect.poll(() => receiver.ids).toEqual([`${id}.succeeded`])
    await expect
      .poll(async () => (await t.client.getTask({ task_id: id })).webhook)
      .toMatchObject({ state: 'delivered', attempts: 1 })
    const metrics = await (await fetch(`${t.url}/metrics`)).text()
    expect(metrics).toContain('asyncgate_task_webhook_attempts_total{outcome="delivered"} 1')
  })

  it('the server does not start with a short secret', () => {
    const { refusals } = loadConfig({ env: { ASYNCGATE_TASK_WEBHOOK_SECRET: 'short' }, file: devNull })
    expect(refusals).toEqual([expect.stringContaining('ASYNCGATE_TASK_WEBHOOK_SECRET')])
  })
})

describe('webhook signatures', () => {
  it('the signature matches the published example of Standard Webhooks', () => {
    const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
    const headers = signedHeaders(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'), {
      id,
      at: 1_614_265_330_000,
      body: '{"test": 2432232314}',
    })
    expect(headers).toEqual({
      'webhook-id': id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })
})
