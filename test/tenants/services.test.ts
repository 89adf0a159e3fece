import { expect, it, onTestFinished } from 'vitest'
import type { OpenServer } from '../../src/server/open-server.ts'
import { secretKey, signedHeaders } from '../../src/util/webhook-signature.ts'
import { mime } from '../email/messages.ts'
import { members } from '../http/support.ts'
import { admin, agent, worker } from '../support/gates.ts'
import { startSmtp } from '../support/smtp.ts'
import { only, soon } from '../support/steps.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { describeStores, serve } from './support.ts'

const SECRETS = { acme: 'the-mail-secret-of-acme', beta: 'the-mail-secret-of-beta' }
const KEYS = { acme: Buffer.from('webhook-secret-of-acme'), beta: Buffer.from('webhook-secret-of-beta') }

const account = (tenant: keyof typeof SECRETS, port: number) => ({
  tenant,
  mail_from: `gate@${tenant}.example`,
  mail_senders: '*',
  mail_recipients: '*',
  mail_sender_proof: 'off',
  mail_webhook_secret: SECRETS[tenant],
  smtp_url: `smtp://127.0.0.1:${port}`,
  smtp_tls: 'none',
})

async function mailServer() {
  const server = await startSmtp()
  onTestFinished(() => server.stop())
  return server
}

/** Delivers an email as the provider of the tenant with this secret does. */
async function deliver({ url }: OpenServer, secret: string, to: string) {
  const body = Buffer.from(mime({ To: to, 'Message-ID': `<${secret}@sender.example>` }))
  const response = await fetch(`${url}/webhooks/inbound_email`, {
    method: 'POST',
    headers: {
      'content-type': 'message/rfc822',
      ...signedHeaders(secretKey(secret), { id: 'm1', at: Date.now(), body }),
    },
    body,
  })
  return members(await response.json())
}

describeStores('email, webhooks and results of tenants', (database) => {
  it('each tenant sends and receives email with its own account', async () => {
    const [ofAcme, ofBeta] = [await mailServer(), await mailServer()]
    const accounts = [account('acme', ofAcme.port), account('beta', ofBeta.port)]
    const server = await serve(await database(), accounts)
    const { gate } = server
    const kee = (tenant: string) => agent('kee', tenant)
    for (const tenant of ['acme', 'beta']) {
      await gate.sendEmail(kee(tenant), {
        to: 'bob@elsewhere.example',
        subject: `From ${tenant}`,
        body: 'Hi',
      })
    }
    const sent = [await soon(ofAcme.count(1)), await soon(ofBeta.count(1))]
    expect(sent.map((emails) => emails.map(({ from, mail }) => [from, mail.subject]))).toEqual([
      [['gate@acme.example', 'From acme']],
      [['gate@beta.example', 'From beta']],
    ])

    const delivered = await deliver(server, SECRETS.acme, 'gate+kee@acme.example')
    expect(delivered).toMatchObject({ status: 'received' })
    const inbound = async (tenant: string) =>
      (await gate.listEmails(kee(tenant), { direction: 'inbound' })).emails.length
    expect([await inbound('acme'), await inbound('beta')]).toEqual([1, 0])
    // The address of one tenant is unknown to the account of another one.
    const misdirected = await deliver(server, SECRETS.beta, 'gate+kee@acme.example')
    expect(misdirected).toMatchObject({ status: 'refused' })
    expect(await deliver(server, 'the-secret-of-nobody', 'gate+kee@acme.example')).toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    await expect(gate.getEmail(admin('beta'), { email_id: delivered.email_id })).rejects.toMatchObject({
      code: 'EMAIL_NOT_FOUND',
    })
  })

  it('a tenant without an account has no email', async () => {
    const server = await serve(await database(), [account('acme', 1)], {
      ASYNCGATE_MAIL_FROM: 'gate@default.example',
    })
    const email = { to: 'bob@elsewhere.example', subject: 'Hi', body: 'Hi' }
    await expect(server.gate.sendEmail(agent('kee', 'other'), email)).rejects.toMatchObject({
      code: 'NOT_CONFIGURED',
      details: { feature: 'email', settings: ['ASYNCGATE_TENANTS_FILE'] },
    })
    await expect(server.gate.sendEmail(agent('kee'), email)).rejects.toMatchObject({
      details: { feature: 'email', settings: ['ASYNCGATE_SMTP_URL'] },
    })
  })

  it('approvals of a tenant are announced to its own endpoint only', async () => {
    const [ofAcme, ofBeta] = [await startReceiver(KEYS.acme), await startReceiver(KEYS.beta)]
    const { gate } = await serve(await database(), [
      { tenant: 'acme', approval_webhook_url: ofAcme.url, approval_webhook_secret: KEYS.acme.toString() },
      { tenant: 'beta', approval_webhook_url: ofBeta.url, approval_webhook_secret: KEYS.beta.toString() },
    ])
    const ask = async (tenant: string) => {
      await gate.putPolicy(admin(tenant), { id: 'ask', action: 'REQUIRE_APPROVAL' })
      return (await gate.createTask(agent('kee', tenant), { type: 'job' })).task_id
    }
    // Nothing of a tenant without an endpoint is announced.
    await ask('other')
    const [inBeta, inAcme] = [await ask('beta'), await ask('acme')]
    await soon(ofAcme.until(1))
    await soon(ofBeta.until(1))
    await gate.approve(admin('beta'), { task_id: inBeta })
    await soon(ofBeta.until(2))
    expect(ofBeta.taken.map(({ id }) => id)).toEqual([`${inBeta}.1.asked`, `${inBeta}.1.decided`])
    expect(ofAcme.taken.map(({ id }) => id)).toEqual([`${inAcme}.1.asked`])
    expect([...ofAcme.refused, ...ofBeta.refused]).toEqual([])
  })

  it('the result channel database stores results among the rows of their tenant', async () => {
    const { gate } = await serve(await database(), [], { ASYNCGATE_RESULT_INLINE_MAX_BYTES: '1024' })
    const complete = async (tenant: string) => {
      const { task_id } = await gate.createTask(agent('kee', tenant), { type: 'job' })
      const offer = only((await gate.leaseNext(worker('w1', tenant), { worker_id: 'w1' })).tasks)
      const { lease_id } = offer
      const result = { of: tenant, text: 'x'.repeat(2000) }
      await gate.complete(worker('w1', tenant), { worker_id: 'w1', task_id, lease_id, result, artifacts: [] })
      return gate.getTask(agent('kee', tenant), { task_id })
    }
    const [acme, beta] = [await complete('acme'), await complete('beta')]
    for (const [tenant, { task_id }] of Object.entries({ acme, beta })) {
      const fetched = await gate.fetchTaskResult(agent('kee', tenant), { task_id })
      expect(fetched).toMatchObject({ channel: 'database', content: { of: tenant } })
    }
    // A worker of one tenant cannot point to a result of another.
    const { result_pointer: pointer } = await gate.fetchTaskResult(agent('kee', 'acme'), {
      task_id: acme.task_id,
    })
    const artifact = { channel: 'database', pointer }
    const { task_id } = await gate.createTask(agent('kee', 'beta'), { type: 'job' })
    const { lease_id } = only((await gate.leaseNext(worker('w1', 'beta'), { worker_id: 'w1' })).tasks)
    await gate.complete(worker('w1', 'beta'), {
      worker_id: 'w1',
      task_id,
      lease_id,
      result: artifact,
      artifacts: [artifact],
    })
    await expect(gate.fetchTaskResult(agent('kee', 'beta'), { task_id })).rejects.toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
  })
})
