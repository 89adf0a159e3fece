import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { openSmtp, SendError } from '../../src/email/smtp.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { secretKey, signedHeaders } from '../../src/util/webhook-signature.ts'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { CERTIFICATE, KEY as CERTIFICATE_KEY } from '../egress/certificate.ts'
import { members } from '../http/support.ts'
import { type Dovecot, dovecotProgram, startDovecot } from '../support/dovecot.ts'
import { agent, worker } from '../support/gates.ts'
import { type SmtpOptions, startSmtp } from '../support/smtp.ts'
import { mime } from './messages.ts'
import { NOWHERE } from './support.ts'

const KEY = 'a-key-for-tests'
const SECRET = 'a-secret-for-tests'
const KEE = agent('kee')
const HEXY = agent('hexy')

async function smtp(options: SmtpOptions = {}) {
  const server = await startSmtp(options)
  onTestFinished(() => server.stop())
  return server
}

/** A complete server in this process. */
async function serve(env: Readonly<Record<string, string>>, folder = newFolder()): Promise<OpenServer> {
  const { config, problems } = reportConfig({
    env: {
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_API_KEY: KEY,
      ASYNCGATE_PORT: '0',
      ASYNCGATE_MAIL_FROM: 'gate@agents.example',
      ...env,
    },
    file: '/dev/null',
  })
  if (config === undefined) throw new Error(problems.join('\n'))
  const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= server.close()
    return closed
  }
  onTestFinished(close)
  return { ...server, close }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-mail-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const smtpEnv = (port: number) => ({
  ASYNCGATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
  ASYNCGATE_SMTP_TLS: 'none',
})

/** Resolves when a task of this type has ended. */
function ended({ gate }: OpenServer, type: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = gate.onTask((event) => {
      if (event.type !== type || event.status !== 'succeeded') return
      stop()
      resolve()
    })
  })
}

describe('a server with email', () => {
  it('an email goes from one agent to another, out by SMTP and in by the webhook', async () => {
    const mailServer = await smtp()
    const server = await serve({ ...smtpEnv(mailServer.port), ASYNCGATE_MAIL_WEBHOOK_SECRET: SECRET })
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/v1/emails`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        principal_id: 'hexy',
        to: 'gate+kee@agents.example',
        subject: 'Code Review Complete',
        body: { verdict: 'fine' },
      }),
    })
    const { email_id } = members(await response.json())
    const [taken] = await mailServer.count(1)
    // Delivers the email as the mail server of the domain would.
    const body = Buffer.from(taken?.source ?? '')
    const delivered = await fetch(`${server.url}/webhooks/inbound_email`, {
      method: 'POST',
      headers: {
        'content-type': 'message/rfc822',
        ...signedHeaders(secretKey(SECRET), { id: 'm1', at: Date.now(), body }),
      },
      body,
    })
    expect(await delivered.json()).toMatchObject({ status: 'received' })
    const { attention } = await server.gate.bootstrap(KEE, {})
    expect(attention.waiting_results).toMatchObject([
      { type: 'email.received', result: { result: { from: 'gate+hexy@agents.example' } } },
    ])
    const { emails } = await server.gate.listEmails(KEE, { direction: 'inbound' })
    const found = await server.gate.getEmail(KEE, { email_id: emails[0]?.email_id })
    expect(found).toMatchObject({ body: { verdict: 'fine' } })
    expect(await server.gate.getEmail(HEXY, { email_id })).toMatchObject({ status: 'delivered' })
  })

  it('results of a task type are sent by email and can be fetched', async () => {
    const mailServer = await smtp()
    const server = await serve(smtpEnv(mailServer.port))
    const { gate } = server
    const admin = { tenant: 'default', principal: { kind: 'human', id: 'root' }, role: 'admin' } as const
    await gate.registerTaskType(admin, { type: 'consult', result_channel: 'email' })
    const { task_id } = await gate.createTask(KEE, { type: 'consult' })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1' })
    const lease = { worker_id: 'w1', task_id, lease_id: tasks[0]?.lease_id }
    await gate.complete(worker(), { ...lease, result: { answer: 42 }, result_summary: 'Asked' })
    // A repeated completion does not send a second email.
    await gate.complete(worker(), { ...lease, result: { answer: 42 }, result_summary: 'Asked' })
    const email = await gate.fetchTaskEmail(KEE, { task_id })
    expect(email).toMatchObject({ body: { answer: 42 }, to: ['gate+kee@agents.example'] })
    expect(await gate.fetchTaskResult(KEE, { task_id })).toMatchObject({
      channel: 'email',
      result_pointer: `email:${email.message_id}`,
      content: { answer: 42 },
    })
    const [taken] = await mailServer.count(1)
    expect(taken?.to).toEqual(['gate+kee@agents.example'])
    expect(taken?.mail.text).toContain('Summary: Asked')
    expect(mailServer.taken).toHaveLength(1)
    await gate.archiveTaskResult(KEE, { task_id })
    expect((await gate.fetchTaskEmail(KEE, { task_id })).archived_at).not.toBeNull()
  })

  it('a server that stops while sending leaves the email to the next server', async () => {
    let hasArrived = () => {}
    const arrived = new Promise<void>((resolve) => {
      hasArrived = resolve
    })
    const hanging = await smtp({
      onMail() {
        hasArrived()
        return new Promise(() => {})
      },
    })
    const folder = newFolder()
    const first = await serve(smtpEnv(hanging.port), folder)
    const { email_id } = await first.gate.sendEmail(KEE, {
      to: 'gate+hexy@agents.example',
      subject: 'x',
      body: 'y',
    })
    await arrived
    await first.close()
    const working = await smtp()
    const second = await serve(smtpEnv(working.port), folder)
    // The interrupted email is due again soon.
    const waiting = await second.gate.getEmail(KEE, { email_id })
    expect(waiting).toMatchObject({ status: 'pending', attempts: 1, error: expect.any(String) })
    expect(Date.parse(waiting.next_try_at ?? '') - Date.now()).toBeLessThan(60_000)
    await second.gate.sendEmail(KEE, { to: 'gate+hexy@agents.example', subject: 'other', body: 'y' })
    expect((await working.count(1)).map(({ mail }) => mail.subject)).toEqual(['other'])
  }, 20_000)

  it('the inbound webhook names the missing settings if it is not configured', async () => {
    const server = await serve({})
    const response = await fetch(`${server.url}/webhooks/inbound_email`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(501)
    expect(await response.json()).toMatchObject({
      code: 'NOT_CONFIGURED',
      details: { settings: expect.arrayContaining(['ASYNCGATE_MAIL_WEBHOOK_SECRET']) },
    })
  })

  it('emails can be listed, shown and retried with the CLI', async () => {
    const { ASYNCGATE_MAIL_MAX_ATTEMPTS, ...env } = {
      ASYNCGATE_MAIL_MAX_ATTEMPTS: '1',
      ...smtpEnv(NOWHERE.port),
      ASYNCGATE_MAIL_RECIPIENTS: 'elsewhere.example',
    }
    const server = await serve({ ...env, ASYNCGATE_MAIL_MAX_ATTEMPTS })
    const run = (...args: string[]) => cli(['emails', ...args, '--url', server.url, '--key', KEY])
    expect((await run('list')).stdout).toContain('There are no such emails.')
    const note = { to: 'a@elsewhere.example', subject: 'A note', body: { n: 1 } }
    const { email_id } = await server.gate.sendEmail(KEE, {
      ...note,
      attachments: [{ filename: 'a.txt', content: 'aGk=', media_type: 'text/plain' }],
    })
    // The server sends in the background, so the command is repeated until the status changes.
    let shown = await run('show', email_id)
    while (shown.stdout.includes('pending')) shown = await run('show', email_id)
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/^status {5}failed \(outbound\)$/m)
    expect(shown.stdout).toMatch(/^error {6}.*ECONNREFUSED/m)
    expect(shown.stdout).toContain('a.txt (text/plain, 2 bytes)')
    expect(shown.stdout).toContain('"n": 1')
    const listed = await run('list', '--status', 'failed', '--json')
    expect(JSON.parse(listed.stdout).emails).toMatchObject([{ email_id, status: 'failed' }])
    expect((await run('list', '--inbound')).stdout).toContain('There are no such emails.')
    expect((await run('list', '--status', 'lost')).code).toBe(2)
    expect(await run('retry', email_id)).toMatchObject({ code: 0, stdout: `${email_id} is pending again\n` })
    expect((await run('show', 'none')).code).toBe(3)
    expect((await run('list', '--as', 'agent:mallory')).stdout).toContain('There are no such emails.')
  }, 120_000)
})

describe('SMTP connections', () => {
  const email = {
    message_id: 'm@agents.example',
    from: 'gate@agents.example',
    to: ['a@b.example'],
    subject: 's',
    task_id: null,
    created_at: 0,
  }
  const send = async (settings: Parameters<typeof openSmtp>[0]) => {
    const transport = await openSmtp(settings, 'gate@agents.example')
    const full = {
      ...email,
      email_id: '',
      direction: 'outbound',
      in_reply_to: null,
      by: 'agent:kee',
      agents: [],
      status: 'pending',
      attempts: 1,
      error: null,
      attachments: [],
      archive_copy: true,
      next_try_at: null,
      sent_at: null,
      delivered_at: null,
      fetched_at: null,
      archived_at: null,
    } as const
    return transport.send(full, { text: 't', attachments: [] }).catch((error: unknown) => error)
  }
  const TLS = { key: CERTIFICATE_KEY, cert: CERTIFICATE }

  it('a connection without TLS is refused unless the settings permit it', async () => {
    const plain = await smtp()
    const refused = await send({ ...plain.settings, tls: 'starttls' })
    expect(refused).toBeInstanceOf(SendError)
    expect(refused).toMatchObject({ permanent: false })
    expect(plain.taken).toEqual([])
    expect(await send(plain.settings)).toBeUndefined()
  })

  it('a connection with an untrusted certificate is refused', async () => {
    const secure = await smtp({ options: { secure: true, ...TLS } })
    const upgraded = await smtp({ options: { disabledCommands: ['AUTH'], ...TLS } })
    for (const [server, tls] of [
      [secure, 'implicit'],
      [upgraded, 'starttls'],
    ] as const) {
      expect(await send({ ...server.settings, tls })).toMatchObject({ name: 'SendError', permanent: false })
      expect(server.taken).toEqual([])
    }
  })

  it.each(['smtps', 'smtp'] as const)(
    '%s connections are encrypted, in a separate process',
    async (scheme) => {
      const credentials = { user: 'gate@agents.example', password: 'p@ss/word' }
      const options =
        scheme === 'smtps'
          ? { secure: true, ...TLS }
          : { disabledCommands: [], allowInsecureAuth: false, ...TLS }
      const mailServer = await smtp({ credentials, options })
      const home = testFolder()
      writeFileSync(join(home, 'ca.pem'), CERTIFICATE)
      const login = `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.password)}`
      const server = await startServer(['serve'], home, {
        ASYNCGATE_API_KEY: KEY,
        ASYNCGATE_MAIL_FROM: 'gate@agents.example',
        ASYNCGATE_SMTP_URL: `${scheme}://${login}@127.0.0.1:${mailServer.port}`,
        NODE_EXTRA_CA_CERTS: join(home, 'ca.pem'),
      })
      const response = await fetch(`${server.url}/v1/emails`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          to: 'gate+kee@agents.example',
          subject: 'x',
          body: 'y',
          principal_id: 'hexy',
        }),
      })
      expect(response.status).toBe(200)
      await mailServer.count(1)
      const { code, stderr } = await server.stop()
      expect(code).toBe(0)
      expect(stderr).not.toContain(credentials.password)
      expect(stderr).not.toContain(encodeURIComponent(credentials.password))
    },
  )
})

it('a stopping process does not wait for an SMTP server that never responds', async () => {
  let hasArrived = () => {}
  const arrived = new Promise<void>((resolve) => {
    hasArrived = resolve
  })
  const hanging = await smtp({
    onMail() {
      hasArrived()
      return new Promise(() => {})
    },
  })
  const server = await startServer(['serve'], testFolder(), {
    ASYNCGATE_API_KEY: KEY,
    ASYNCGATE_MAIL_FROM: 'gate@agents.example',
    ...smtpEnv(hanging.port),
  })
  await fetch(`${server.url}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: 'gate+kee@agents.example', subject: 'x', body: 'y', principal_id: 'hexy' }),
  })
  await arrived
  expect((await server.stop()).code).toBe(0)
})

const program = dovecotProgram()

describe.skipIf(program === undefined)('a server with a mailbox', () => {
  let dovecot: Dovecot
  beforeAll(async () => {
    dovecot = await startDovecot(program ?? '')
  })
  afterAll(() => dovecot.stop())

  it('the server fetches email by itself and notifies the agent', async () => {
    const { port, user, password } = dovecot.settings('gate')
    await dovecot.append('gate', 'INBOX', mime())
    const server = await serve({
      ASYNCGATE_IMAP_URL: `imap://${user}:${password}@127.0.0.1:${port}`,
      ASYNCGATE_IMAP_TLS: 'none',
      ASYNCGATE_IMAP_POLL_SECONDS: '1',
      ASYNCGATE_MAIL_SENDERS: 'elsewhere.example',
    })
    const { gate } = server
    while ((await gate.listEmails(KEE, { direction: 'inbound' })).emails.length < 1)
      await ended(server, 'email.received')
    const second = ended(server, 'email.received')
    await dovecot.append('gate', 'INBOX', mime({ 'Message-ID': '<m2@elsewhere.example>' }))
    await second
    expect((await gate.listEmails(KEE, { direction: 'inbound' })).emails).toHaveLength(2)
    await server.close()
    expect(await dovecot.messages('gate', 'INBOX')).toEqual([])
  })
})
