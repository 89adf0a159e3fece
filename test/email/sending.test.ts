import { expect, it, onTestFinished } from 'vitest'
import { EmailQueue } from '../../src/email/queue.ts'
import { SENDING_MS, Sender } from '../../src/email/sender.ts'
import { openSmtp, type Transport } from '../../src/email/smtp.ts'
import type { Entries } from '../../src/store/entries.ts'
import { admin, agent, describeGates, type Open, worker } from '../support/gates.ts'
import { type SmtpOptions, smtpError, startSmtp } from '../support/smtp.ts'
import { type EmailBenchOptions, emailOf, fault, NOWHERE, openEmailBench } from './support.ts'

const KEE = agent('kee')
const HEXY = agent('hexy')
const NOTE = { to: 'gate+hexy@agents.example', subject: 'A note', body: 'Hello Hexy' }

async function smtp(options: SmtpOptions = {}) {
  const server = await startSmtp(options)
  onTestFinished(() => server.stop())
  return server
}

async function sendingBench(open: Open, options: EmailBenchOptions = {}, server: SmtpOptions = {}) {
  const mailServer = await smtp(server)
  const bench = await openEmailBench(open, {
    ...options,
    emailSettings: { smtp: mailServer.settings, ...options.emailSettings },
  })
  const sender = await bench.smtpSender(mailServer.settings)
  const send = () => sender.sendDue(bench.tenant.tenant)
  return { ...bench, mailServer, sender, send }
}

describeGates('sending email', (open) => {
  it('send_email queues an email, sends it and reports its status', async () => {
    const { gate, send, mailServer } = await sendingBench(open)
    const { email_id, message_id, status } = await gate.sendEmail(KEE, NOTE)
    expect(status).toBe('pending')
    expect(message_id).toBe(`${email_id}@agents.example`)
    expect(await send()).toBe(1)
    const [taken] = mailServer.taken
    expect(taken).toMatchObject({ from: 'gate@agents.example', to: ['gate+hexy@agents.example'] })
    expect(taken?.mail).toMatchObject({
      messageId: `<${message_id}>`,
      from: { address: 'gate+kee@agents.example' },
      subject: 'A note',
    })
    expect(taken?.mail.text?.trim()).toBe('Hello Hexy')
    expect(taken?.source).toMatch(/^Auto-Submitted: auto-generated\r$/m)
    const email = await gate.getEmail(KEE, { email_id })
    expect(email).toMatchObject({ status: 'sent', attempts: 1, error: null, body: 'Hello Hexy' })
    expect(email.sent_at).not.toBeNull()
    expect(await send()).toBe(0)
  })

  it.each(['sent', 'failed'] as const)('an email is %s although it is read meanwhile', async (status) => {
    const bench = await openEmailBench(open, { emailSettings: { mail_max_attempts: 1 } })
    const { gate, tenant } = bench
    const { email_id } = await gate.sendEmail(KEE, NOTE)
    const sender = bench.senderOn({
      async send() {
        for (const caller of [KEE, HEXY]) await gate.getEmail(caller, { email_id })
        if (status === 'failed') throw new Error('connection refused')
      },
      close() {},
    })
    expect(await sender.sendDue(tenant.tenant)).toBe(1)
    const email = await emailOf(bench, email_id)
    expect(email).toMatchObject({ status, attempts: 1, next_try_at: null })
    expect(email.fetched_at).not.toBeNull()
  })

  it('JSON and attachments are sent unchanged', async () => {
    const { gate, send, mailServer } = await sendingBench(open)
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255])
    const { email_id } = await gate.sendEmail(KEE, {
      ...NOTE,
      subject: 'Grüße \u{1f600} '.repeat(10).trim(),
      body: { verdict: 'fine', lines: [1, 2.5, null] },
      attachments: [
        { filename: 'über.bin', content: bytes.toString('base64') },
        { filename: 'a.txt', content: Buffer.from('hi').toString('base64'), media_type: 'text/plain' },
      ],
    })
    await send()
    const mail = mailServer.taken[0]?.mail
    expect(mail?.subject).toBe('Grüße \u{1f600} '.repeat(10).trim())
    expect(JSON.parse(mail?.text ?? '')).toEqual({ verdict: 'fine', lines: [1, 2.5, null] })
    expect(mail?.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
      ['über.bin', 'application/octet-stream'],
      ['a.txt', 'text/plain'],
    ])
    const [first] = mail?.attachments ?? []
    expect(
      typeof first?.content === 'string' ? '' : Buffer.from(new Uint8Array(first?.content ?? [])),
    ).toEqual(bytes)
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({
      body: { verdict: 'fine', lines: [1, 2.5, null] },
      attachments: [
        { filename: 'über.bin', size_bytes: 6, content: bytes.toString('base64') },
        { filename: 'a.txt', size_bytes: 2 },
      ],
    })
    const [listed] = (await gate.getEmail(KEE, { email_id, include_content: false })).attachments
    expect(listed).not.toHaveProperty('content')
  })

  it('archive_copy false deletes the body after sending', async () => {
    const { gate, send } = await sendingBench(open)
    const { email_id } = await gate.sendEmail(KEE, { ...NOTE, archive_copy: false })
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({ body: 'Hello Hexy' })
    await send()
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({ status: 'sent', body: null })
  })

  it('sending is retried with growing delays, then fails, and can be retried by an operator', async () => {
    const bench = await openEmailBench(open, { emailSettings: { smtp: NOWHERE } })
    const { gate, clock, reports } = bench
    const sender = await bench.smtpSender(NOWHERE)
    const { email_id } = await gate.sendEmail(KEE, NOTE)
    const pauses: number[] = []
    for (const attempts of [1, 2]) {
      expect(await sender.sendDue(bench.tenant.tenant)).toBe(1)
      const email = await emailOf(bench, email_id)
      expect(email).toMatchObject({
        status: 'pending',
        attempts,
        error: expect.stringContaining('ECONNREFUSED'),
      })
      pauses.push((email.next_try_at ?? 0) - clock.now)
      expect(await sender.sendDue(bench.tenant.tenant)).toBe(0)
      clock.now = email.next_try_at ?? 0
    }
    expect(pauses[0]).toBeGreaterThanOrEqual(24_000)
    expect(pauses[0]).toBeLessThanOrEqual(36_000)
    expect(pauses[1]).toBeGreaterThanOrEqual(48_000)
    expect(pauses[1]).toBeLessThanOrEqual(72_000)
    await sender.sendDue(bench.tenant.tenant)
    expect(await emailOf(bench, email_id)).toMatchObject({ status: 'failed', attempts: 3, next_try_at: null })
    expect(reports).toHaveLength(3)
    expect((await gate.listEmails(admin(), { status: 'failed' })).emails).toMatchObject([{ email_id }])

    const server = await smtp()
    const working = await bench.smtpSender(server.settings)
    expect(await working.sendDue(bench.tenant.tenant)).toBe(0)
    expect(await gate.retryEmail(KEE, { email_id })).toEqual({ ok: true, email_id, status: 'pending' })
    expect(await working.sendDue(bench.tenant.tenant)).toBe(1)
    expect(await gate.retryEmail(KEE, { email_id })).toEqual({ ok: false, email_id, status: 'sent' })
    expect(server.taken).toHaveLength(1)
  })

  it('a 4xx response is retried, and a 5xx response is not', async () => {
    const answers = [smtpError(451, 'try later'), smtpError(550, 'no such mailbox')]
    const bench = await sendingBench(
      open,
      {},
      {
        onRecipient() {
          const answer = answers.shift()
          if (answer !== undefined) throw answer
        },
      },
    )
    const { gate, send, clock } = bench
    const { email_id } = await gate.sendEmail(KEE, NOTE)
    await send()
    const waiting = await emailOf(bench, email_id)
    expect(waiting).toMatchObject({ status: 'pending', attempts: 1, error: expect.stringContaining('451') })
    clock.now = waiting.next_try_at ?? 0
    await send()
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({
      status: 'failed',
      attempts: 2,
      error: expect.stringContaining('no such mailbox'),
    })
    expect(bench.mailServer.taken).toEqual([])
  })

  it('a wrong password is retried until the operator fixes it', async () => {
    const credentials = { user: 'gate', password: 'right' }
    const bench = await sendingBench(open, {}, { credentials })
    const { gate, clock, mailServer, tenant } = bench
    const wrong = await bench.smtpSender({ ...mailServer.settings, password: 'wrong' })
    const { email_id } = await gate.sendEmail(KEE, NOTE)
    await wrong.sendDue(tenant.tenant)
    const email = await emailOf(bench, email_id)
    expect(email).toMatchObject({ status: 'pending', error: expect.stringContaining('535') })
    clock.now = email.next_try_at ?? 0
    expect(await bench.send()).toBe(1)
    expect(mailServer.taken).toHaveLength(1)
  })

  it('an email that is too large for the server fails', async () => {
    const { gate, send } = await sendingBench(open, {}, { options: { size: 2048 } })
    const { email_id } = await gate.sendEmail(KEE, { ...NOTE, body: 'x'.repeat(4096) })
    await send()
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({ status: 'failed', attempts: 1 })
  })

  it('two processes never send the same email concurrently', async () => {
    const bench = await openEmailBench(open)
    const { gate, tenant } = bench
    const sent: string[] = []
    const transport: Transport = {
      async send({ email_id }) {
        sent.push(email_id)
        await new Promise(setImmediate)
      },
      close() {},
    }
    const ids: string[] = []
    for (let n = 0; n < 20; n++) {
      ids.push((await gate.sendEmail(KEE, { ...NOTE, subject: `Note ${n}` })).email_id)
    }
    const senders = [1, 2, 3].map(() => bench.senderOn(transport))
    // A process that loses a race finds the next emails, until none are due.
    await Promise.all(senders.map((sender) => sender.sendDue(tenant.tenant)))
    expect(sent.toSorted()).toEqual(ids.toSorted())
  })

  it('an email whose sender died after delivery is sent again with the same Message-ID', async () => {
    const bench = await sendingBench(open)
    const { gate, store, clock, tenant, mailServer, queue } = bench
    const { email_id, message_id } = await gate.sendEmail(KEE, NOTE)
    // The first process claims the email, sends it and dies before it records that.
    let writes = 0
    const entries: Entries = {
      ...store.entries,
      put: (draft, expected) =>
        draft.kind === 'email' && ++writes > 1 ? new Promise(() => {}) : store.entries.put(draft, expected),
    }
    const dyingQueue = new EmailQueue({ entries, settings: queue.settings, now: () => clock.now })
    const transport = await openSmtp(mailServer.settings, 'gate@agents.example')
    void new Sender({ queue: dyingQueue, transport, report() {} }).sendDue(tenant.tenant)
    await mailServer.count(1)
    // No other process sends the email while the first one may still be sending.
    expect(await bench.send()).toBe(0)
    expect(await emailOf(bench, email_id)).toMatchObject({ status: 'pending', attempts: 1 })
    clock.now += SENDING_MS
    expect(await bench.send()).toBe(1)
    expect(await emailOf(bench, email_id)).toMatchObject({ status: 'sent', attempts: 2 })
    const ids = mailServer.taken.map(({ mail }) => mail.messageId)
    expect(ids).toEqual([`<${message_id}>`, `<${message_id}>`])
  })

  it('a stopped sender starts no email', async () => {
    const { gate, sender, send, mailServer } = await sendingBench(open)
    await gate.sendEmail(KEE, NOTE)
    sender.stop()
    expect(await send()).toBe(0)
    expect(mailServer.taken).toEqual([])
  })

  it('an idempotency key creates one email only', async () => {
    const { gate, send, mailServer } = await sendingBench(open)
    const keyed = { ...NOTE, idempotency_key: 'k1' }
    const first = await gate.sendEmail(KEE, keyed)
    const again = await Promise.all(Array.from({ length: 5 }, () => gate.sendEmail(KEE, keyed)))
    expect(again.map(({ email_id }) => email_id)).toEqual(Array(5).fill(first.email_id))
    await send()
    expect(mailServer.taken).toHaveLength(1)
    expect(await gate.sendEmail(KEE, keyed)).toMatchObject({ email_id: first.email_id, status: 'sent' })
    await expect(gate.sendEmail(KEE, { ...keyed, body: 'Other' })).rejects.toMatchObject(
      fault('IDEMPOTENCY_CONFLICT'),
    )
    const others = await gate.sendEmail(HEXY, { ...keyed, to: 'gate+kee@agents.example' })
    expect(others.email_id).not.toBe(first.email_id)
  })

  it('emails of a sender are limited per hour', async () => {
    const { gate, clock } = await openEmailBench(open, { emailSettings: { mail_max_per_hour: 2 } })
    await gate.sendEmail(KEE, { ...NOTE, idempotency_key: 'k' })
    await gate.sendEmail(KEE, { ...NOTE, idempotency_key: 'k' })
    await gate.sendEmail(KEE, NOTE)
    await expect(gate.sendEmail(KEE, NOTE)).rejects.toMatchObject(
      fault('RATE_LIMIT_EXCEEDED', { limit_per_hour: 2, retry_after_seconds: 3600 }),
    )
    await gate.sendEmail(HEXY, NOTE)
    clock.advance(3600)
    await gate.sendEmail(KEE, NOTE)
  })

  it('concurrent emails do not exceed the hourly limit', async () => {
    const { gate } = await openEmailBench(open, { emailSettings: { mail_max_per_hour: 5 } })
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => gate.sendEmail(KEE, NOTE)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  })

  it('an email is removed when its retention ends, but not before it is sent', async () => {
    const { gate, clock, send, queue, store, tenant } = await sendingBench(open)
    const { task_id } = await gate.createTask(KEE, { type: 'job' })
    const { email_id } = await gate.sendEmail(KEE, { ...NOTE, task_id, idempotency_key: 'k' })
    await send()
    clock.advance(29 * 24 * 3600)
    await queue.records.forget(tenant.tenant, clock.now, 100)
    await send()
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({ body: 'Hello Hexy' })
    clock.advance(24 * 3600)
    await queue.records.forget(tenant.tenant, clock.now, 100)
    await send()
    await expect(gate.getEmail(KEE, { email_id })).rejects.toMatchObject(fault('EMAIL_NOT_FOUND'))
    for (const kind of ['email', 'email_content', 'email_of_task', 'email_key']) {
      expect(await store.entries.list(tenant.tenant, kind, '', 10)).toEqual([])
    }
  })
})

describeGates(
  'permissions of send_email',
  (open) => {
    it.each([
      'gate+hexy@agents.example',
      'GATE+Hexy@Agents.Example',
      'friend@elsewhere.example',
      'Friend@Elsewhere.Example',
      'anybody@open.example',
    ])('an email to %s is accepted', async (to) => {
      const { gate } = await openEmailBench(open)
      expect(await gate.sendEmail(KEE, { ...NOTE, to })).toMatchObject({ status: 'pending' })
    })

    it.each([
      'stranger@elsewhere.example',
      'anybody@sub.open.example',
      'anybody@notopen.example',
      'hexy@agents.example',
      'gate@agents.example',
      'other+hexy@agents.example',
    ])('an email to %s is refused', async (to) => {
      const { gate, store, tenant } = await openEmailBench(open)
      await expect(gate.sendEmail(KEE, { ...NOTE, to })).rejects.toMatchObject(
        fault('RECIPIENT_NOT_ALLOWED', { to }),
      )
      expect(await store.entries.list(tenant.tenant, 'email', '', 10)).toEqual([])
    })

    it.each([
      ['to', 'friend@elsewhere.example\r\nBcc: x@y.example'],
      ['to', 'friend@elsewhere.example, x@y.example'],
      ['to', '"a b"@open.example'],
      ['to', 'Friend <friend@elsewhere.example>'],
      ['to', 'friend@elsewhere.example\n'],
      ['to', 'fr\u0456end@elsewhere.example'],
      ['to', ''],
      ['subject', 'Hello\r\nBcc: x@y.example'],
      ['subject', 'Hello\nX: y'],
      ['subject', 'Hello\rX'],
      ['subject', 'Hello\u0085'],
      ['subject', ''],
      ['subject', 'x'.repeat(501)],
      ['body', ''],
      ['body', ' \n'],
      ['body', undefined],
      ['body', { deep: '\ud800' }],
      ['attachments', [{ filename: '../x', content: '' }]],
      ['attachments', [{ filename: 'a\r\nb', content: '' }]],
      ['attachments', [{ filename: 'a', content: 'no base64!' }]],
      ['attachments', [{ filename: 'a', content: 'YQ' }]],
      ['attachments', [{ filename: 'a', content: '', media_type: 'text/plain\r\nX: y' }]],
      ['attachments', Array.from({ length: 21 }, () => ({ filename: 'a', content: '' }))],
      ['colour', 'red'],
    ])('an input with %s %j is refused', async (field, value) => {
      const { gate, store, tenant } = await openEmailBench(open)
      await expect(gate.sendEmail(KEE, { ...NOTE, [field]: value })).rejects.toMatchObject(
        fault('VALIDATION_ERROR'),
      )
      expect(await store.entries.list(tenant.tenant, 'email', '', 10)).toEqual([])
    })

    it('the size limit includes attachments', async () => {
      const { gate, queue } = await openEmailBench(open)
      const attachment = (size: number) => [{ filename: 'a', content: Buffer.alloc(size).toString('base64') }]
      const room = queue.maxBytes - NOTE.body.length
      await gate.sendEmail(KEE, { ...NOTE, attachments: attachment(room) })
      await expect(gate.sendEmail(KEE, { ...NOTE, attachments: attachment(room + 1) })).rejects.toMatchObject(
        fault('PAYLOAD_TOO_LARGE', { limit_bytes: queue.maxBytes }),
      )
      await expect(
        gate.sendEmail(KEE, { ...NOTE, body: 'x'.repeat(queue.maxBytes + 1) }),
      ).rejects.toMatchObject(fault('PAYLOAD_TOO_LARGE'))
    })

    it('workers cannot send, and other agents cannot read an email', async () => {
      const { gate } = await openEmailBench(open)
      await expect(gate.sendEmail(worker(), NOTE)).rejects.toMatchObject(fault('FORBIDDEN'))
      const { email_id } = await gate.sendEmail(KEE, NOTE)
      for (const reader of [KEE, HEXY, admin()]) await gate.getEmail(reader, { email_id })
      await expect(gate.getEmail(agent('mallory'), { email_id })).rejects.toMatchObject(fault('FORBIDDEN'))
      await expect(gate.retryEmail(agent('mallory'), { email_id })).rejects.toMatchObject(fault('FORBIDDEN'))
      expect((await gate.listEmails(agent('mallory'), {})).emails).toEqual([])
      expect((await gate.listEmails(HEXY, {})).emails).toMatchObject([{ email_id }])
      const elsewhere = agent('kee', 'other')
      await expect(gate.getEmail(elsewhere, { email_id })).rejects.toMatchObject(fault('EMAIL_NOT_FOUND'))
      await expect(gate.getEmail(KEE, { email_id: 'none' })).rejects.toMatchObject(fault('EMAIL_NOT_FOUND'))
    })

    it('an agent without an address sends from the address of the gate', async () => {
      const { gate, queue, tenant } = await openEmailBench(open)
      const { email_id } = await gate.sendEmail(agent('No Address'), NOTE)
      expect(await queue.get(tenant.tenant, email_id)).toMatchObject({ from: 'gate@agents.example' })
    })

    it('list_emails returns pages, oldest first', async () => {
      const { gate, clock } = await openEmailBench(open)
      const ids: string[] = []
      for (let n = 0; n < 5; n++) {
        clock.advance(1)
        ids.push((await gate.sendEmail(n === 2 ? HEXY : KEE, { ...NOTE, to: 'a@open.example' })).email_id)
      }
      const mine = ids.filter((_, n) => n !== 2)
      const first = await gate.listEmails(KEE, { limit: 3 })
      expect(first.emails.map(({ email_id }) => email_id)).toEqual(mine.slice(0, 3))
      const second = await gate.listEmails(KEE, { limit: 3, cursor: first.next_cursor ?? '' })
      expect(second.emails.map(({ email_id }) => email_id)).toEqual(mine.slice(3))
      expect(second.next_cursor).toBeNull()
      expect((await gate.listEmails(KEE, { status: 'failed' })).emails).toEqual([])
      expect((await gate.listEmails(KEE, { direction: 'inbound' })).emails).toEqual([])
    })

    it('an email can refer to a task only if the sender may read that task', async () => {
      const { gate, clock } = await openEmailBench(open)
      const { task_id } = await gate.createTask(KEE, { type: 'job' })
      await expect(gate.sendEmail(HEXY, { ...NOTE, task_id })).rejects.toMatchObject(fault('FORBIDDEN'))
      await expect(gate.fetchTaskEmail(KEE, { task_id })).rejects.toMatchObject(
        fault('EMAIL_NOT_FOUND', { task_id }),
      )
      const { email_id } = await gate.sendEmail(KEE, { ...NOTE, task_id, body: '{"looks": "like JSON"}' })
      clock.advance(1)
      const newer = await gate.sendEmail(KEE, { ...NOTE, task_id, body: '{looks like JSON}' })
      expect(await gate.fetchTaskEmail(KEE, { task_id })).toMatchObject({
        email_id: newer.email_id,
        body: '{looks like JSON}',
      })
      expect(await gate.getEmail(KEE, { email_id })).toMatchObject({ body: { looks: 'like JSON' } })
      const { emails } = await gate.listEmails(KEE, { task_id })
      expect(emails.map((email) => email.email_id)).toEqual([email_id, newer.email_id])
      await expect(gate.fetchTaskEmail(HEXY, { task_id })).rejects.toMatchObject(fault('FORBIDDEN'))
    })

    it('without email or SMTP settings, the error names the settings', async () => {
      const bare = await open()
      for (const ask of [
        () => bare.gate.sendEmail(KEE, NOTE),
        () => bare.gate.listEmails(KEE, {}),
        () => bare.gate.getEmail(KEE, { email_id: 'x' }),
        () => bare.gate.fetchTaskEmail(KEE, { task_id: '00000000-0000-7000-8000-000000000000' }),
      ]) {
        await expect(ask()).rejects.toMatchObject(
          fault('NOT_CONFIGURED', { settings: ['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_SMTP_URL'] }),
        )
      }
      const { gate } = await openEmailBench(open, { emailSettings: { smtp: null } })
      expect(await gate.listEmails(KEE, {})).toEqual({ emails: [], next_cursor: null })
      await expect(gate.sendEmail(KEE, NOTE)).rejects.toMatchObject(
        fault('NOT_CONFIGURED', { settings: ['ASYNCGATE_SMTP_URL'] }),
      )
    })
  },
  ['sqlite'],
)
