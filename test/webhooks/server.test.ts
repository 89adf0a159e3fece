import { devNull } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { testGate } from '../../src/testing/index.ts'
import { signedHeaders } from '../../src/util/webhook-signature.ts'
import { task } from '../../src/worker/index.ts'
import { soon } from '../support/steps.ts'
import { startReceiver } from './receiver.ts'

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

  it.each(['APPROVAL', 'BILLING'])('the server does not start without a secret of the %s webhook', (name) => {
    for (const secret of [undefined, 'short']) {
      const env = {
        [`ASYNCGATE_${name}_WEBHOOK_URL`]: 'https://hooks.example/webhook',
        ...(secret && { [`ASYNCGATE_${name}_WEBHOOK_SECRET`]: secret }),
      }
      const { refusals } = loadConfig({ env, file: devNull })
      expect(refusals).toEqual([expect.stringContaining(`ASYNCGATE_${name}_WEBHOOK_SECRET`)])
    }
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
