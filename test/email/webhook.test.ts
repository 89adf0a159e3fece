import { generateKeyPairSync, sign } from 'node:crypto'
import { expect, it } from 'vitest'
import { StoreError } from '../../src/store/store.ts'
import { secretKey, signedHeaders } from '../../src/util/webhook-signature.ts'
import { admin, agent, describeGates } from '../support/gates.ts'
import { openInboundBench } from './inbound.ts'
import { BOUNDARY, bounce, form, mime, postmark, sendGridFields } from './messages.ts'
import { emailOf, MAIL } from './support.ts'

const SECRET = MAIL.mail_webhook_secret ?? ''
const KEE = agent('kee')
const JSON_TYPE = 'application/json'

describeGates('inbound email', (open) => {
  it('an email is stored and stays in the inbox of its agent until it is acknowledged', async () => {
    const { gate, deliverJson, inboxOf } = await openInboundBench(open)
    const { status, body } = await deliverJson(postmark())
    expect({ status, body }).toEqual({
      status: 200,
      body: { status: 'received', email_id: expect.any(String) },
    })
    const email_id = String(body.email_id)
    expect(await gate.getEmail(KEE, { email_id })).toMatchObject({
      direction: 'inbound',
      status: 'received',
      from: 'friend@elsewhere.example',
      to: ['gate+kee@agents.example'],
      subject: 'Hello',
      body: 'Dear Kee',
      message_id: 'm1@elsewhere.example',
      task_id: null,
    })
    expect(await inboxOf('kee')).toEqual([
      {
        type: 'email.received',
        summary: 'Email from friend@elsewhere.example: Hello',
        result: {
          email_id,
          message_id: 'm1@elsewhere.example',
          from: 'friend@elsewhere.example',
          subject: 'Hello',
          text: 'Dear Kee',
          truncated: false,
          in_reply_to: null,
          task_id: null,
          attachments: [],
        },
      },
    ])
    expect(await inboxOf('hexy')).toEqual([])
    expect((await gate.listEmails(KEE, { direction: 'inbound' })).emails).toMatchObject([{ email_id }])
    expect((await gate.listEmails(KEE, { status: 'received' })).emails).toMatchObject([{ email_id }])
    const { attention } = await gate.bootstrap(KEE, {})
    for (const { receipt_id } of attention.inbox_receipts) await gate.ackReceipt(KEE, { receipt_id })
    expect(await inboxOf('kee')).toEqual([])
  })

  it('an email is stored once, however often and in whatever format it is delivered', async () => {
    const { deliverJson, deliverMime, deliverForm, inboxOf, store, tenant } = await openInboundBench(open)
    const { body } = await deliverJson(postmark())
    const again = { status: 'duplicate', email_id: body.email_id }
    expect((await deliverJson(postmark())).body).toEqual(again)
    expect((await deliverMime(mime())).body).toEqual(again)
    expect((await deliverForm(form(sendGridFields()))).body).toEqual(again)
    expect(await inboxOf('kee')).toHaveLength(1)
    expect(await store.entries.list(tenant.tenant, 'inbound_email', '', 10)).toHaveLength(1)
  })

  it('an email is stored once when it is delivered several times concurrently', async () => {
    const { deliverJson, inboxOf, store, tenant } = await openInboundBench(open)
    const answers = await Promise.all(Array.from({ length: 6 }, () => deliverJson(postmark())))
    expect(answers.filter(({ body }) => body.status === 'received')).toHaveLength(1)
    expect(new Set(answers.map(({ body }) => body.email_id)).size).toBe(1)
    expect(await inboxOf('kee')).toHaveLength(1)
    expect(await store.entries.list(tenant.tenant, 'inbound_email', '', 10)).toHaveLength(1)
  })

  it('an email that is delivered once per recipient reaches each recipient once', async () => {
    const { deliverJson, inboxOf } = await openInboundBench(open)
    const to = (name: string) => {
      const Email = `gate+${name}@agents.example`
      return postmark({ OriginalRecipient: Email, ToFull: [{ Email, Name: '' }] })
    }
    expect((await deliverJson(to('kee'))).body.status).toBe('received')
    expect((await deliverJson(to('hexy'))).body.status).toBe('duplicate')
    expect((await deliverJson(to('hexy'))).body.status).toBe('duplicate')
    expect(await inboxOf('kee')).toHaveLength(1)
    expect(await inboxOf('hexy')).toHaveLength(1)
  })

  it('an email is announced even if the receiving process died before', async () => {
    const bench = await openInboundBench(open)
    const { deliverJson, inboxOf, gate, notices } = bench
    const announce = notices.announce.bind(notices)
    notices.announce = () => Promise.reject(new Error('died'))
    expect((await deliverJson(postmark())).status).toBe(500)
    notices.announce = announce
    expect((await deliverJson(postmark())).body.status).toBe('duplicate')
    expect(await inboxOf('kee')).toHaveLength(1)
    // Also if the process died between creating and completing the task.
    const finish = notices.finish.bind(notices)
    notices.finish = () => Promise.reject(new Error('died'))
    const other = { Headers: [{ Name: 'Message-ID', Value: '<m2@elsewhere.example>' }] }
    expect((await deliverJson(postmark(other))).status).toBe(500)
    expect(await inboxOf('kee')).toHaveLength(1)
    await finish()
    expect(await inboxOf('kee')).toHaveLength(2)
    expect((await gate.listTasks(KEE, { status: 'queued' })).tasks).toEqual([])
  })

  it('a reply belongs to the task of the original email', async () => {
    const { gate, clock, deliverJson, inboxOf } = await openInboundBench(open)
    const { task_id } = await gate.createTask(KEE, { type: 'job' })
    const sent = await gate.sendEmail(KEE, {
      to: 'friend@elsewhere.example',
      subject: 'A question',
      body: 'Why?',
      task_id,
    })
    clock.advance(1)
    const { body } = await deliverJson(
      postmark({
        Subject: 'Re: A question',
        TextBody: '{"answer": 42}',
        Headers: [
          { Name: 'Message-ID', Value: '<m2@elsewhere.example>' },
          { Name: 'References', Value: `<x@y> <${sent.message_id}>` },
        ],
      }),
    )
    const { emails } = await gate.listEmails(KEE, { task_id, direction: 'inbound' })
    expect(emails).toMatchObject([{ email_id: body.email_id, task_id }])
    expect(await gate.fetchTaskEmail(KEE, { task_id })).toMatchObject({ body: { answer: 42 } })
    expect(await inboxOf('kee')).toMatchObject([{ result: { task_id } }])
  })

  it("a reply to the gate's own address goes to the sender of the original email", async () => {
    const { gate, deliverMime, inboxOf } = await openInboundBench(open)
    const sent = await gate.sendEmail(agent('Kee'), {
      to: 'friend@elsewhere.example',
      subject: 'x',
      body: 'y',
    })
    const answer = { To: 'Gate@agents.example', 'In-Reply-To': `<${sent.message_id}>` }
    expect((await deliverMime(mime(answer))).body).toMatchObject({ status: 'received' })
    expect(await inboxOf('Kee')).toHaveLength(1)
    const stranger = { ...answer, From: 'stranger@evil.example', 'Message-ID': '<m2@x>' }
    expect((await deliverMime(mime(stranger))).body).toMatchObject({ reason: 'the sender is not allowed' })
    const elsewhere = { ...answer, To: 'x@agents.example', 'Message-ID': '<m3@x>' }
    expect((await deliverMime(mime(elsewhere))).body).toMatchObject({
      reason: 'no recipient is an agent of this server',
    })
  })

  it('an email is found by its own Message-ID, and not by its internal id', async () => {
    const { deliverJson, queue, tenant } = await openInboundBench(open)
    const { body } = await deliverJson(postmark())
    expect(await queue.byMessageId(tenant.tenant, 'm1@elsewhere.example')).toMatchObject({
      email_id: body.email_id,
    })
    expect(await queue.byMessageId(tenant.tenant, `${body.email_id}@agents.example`)).toBeUndefined()
  })

  it('an email belongs to the task that its subject names if its agent may see the task', async () => {
    const { gate, deliverJson } = await openInboundBench(open)
    const mine = await gate.createTask(KEE, { type: 'job' })
    const others = await gate.createTask(agent('hexy'), { type: 'job' })
    const subject = async (Subject: string, id: string) => {
      const Headers = [{ Name: 'Message-ID', Value: `<${id}@x>` }]
      const { body } = await deliverJson(postmark({ Subject, Headers }))
      return (await gate.getEmail(KEE, { email_id: String(body.email_id) })).task_id
    }
    expect(await subject(`Re: Task Results - ${mine.task_id}`, 'a')).toBe(mine.task_id)
    expect(await subject(`Re: Task Results - ${others.task_id}`, 'b')).toBeNull()
    expect(await subject('Re: 00000000-0000-7000-8000-000000000000', 'c')).toBeNull()
  })

  it('an email between agents is received as it was sent, even if it was altered in transit', async () => {
    const bench = await openInboundBench(open, { emailSettings: { mail_senders: [] } })
    const { gate, deliverMime, inboxOf } = bench
    const sent = await gate.sendEmail(KEE, {
      to: 'gate+hexy@agents.example',
      subject: 'Review',
      body: { verdict: 'fine' },
    })
    const inTransit = {
      'Message-ID': `<${sent.message_id}>`,
      To: 'gate+hexy@agents.example',
      From: 'evil@evil.example',
    }
    const { body } = await deliverMime(mime({ ...inTransit, Subject: 'Forged' }, 'Forged'))
    expect(body.status).toBe('received')
    expect(await gate.getEmail(agent('hexy'), { email_id: String(body.email_id) })).toMatchObject({
      from: 'gate+kee@agents.example',
      subject: 'Review',
      body: { verdict: 'fine' },
    })
    expect(await emailOf(bench, sent.email_id)).toMatchObject({ status: 'delivered', next_try_at: null })
    expect(await inboxOf('hexy')).toMatchObject([{ summary: 'Email from gate+kee@agents.example: Review' }])
    // The email was delivered, so it is not sent again.
    expect(
      await bench
        .senderOn({ send: () => Promise.reject(new Error('no')), close() {} })
        .sendDue(bench.tenant.tenant),
    ).toBe(0)
  })

  it('a Message-ID of an email to an outside address does not bypass the sender check', async () => {
    const { gate, deliverMime } = await openInboundBench(open, { emailSettings: { mail_senders: [] } })
    const sent = await gate.sendEmail(KEE, { to: 'friend@elsewhere.example', subject: 'x', body: 'y' })
    const { body } = await deliverMime(mime({ 'Message-ID': `<${sent.message_id}>` }))
    expect(body).toEqual({ status: 'refused', reason: 'the sender is not allowed' })
  })

  it('a delivery report updates the status of the reported email', async () => {
    const bench = await openInboundBench(open)
    const { gate, deliverMime, inboxOf } = bench
    const send = () => gate.sendEmail(KEE, { to: 'friend@elsewhere.example', subject: 'x', body: 'y' })
    const [first, second] = [await send(), await send()]
    expect((await deliverMime(bounce(first.message_id, 'failed'))).body).toEqual({
      status: 'received',
      email_id: first.email_id,
    })
    expect(await emailOf(bench, first.email_id)).toMatchObject({
      status: 'failed',
      error: 'smtp; 550 5.1.1 no such user',
      next_try_at: null,
    })
    await deliverMime(bounce(second.message_id, 'delivered'))
    expect(await emailOf(bench, second.email_id)).toMatchObject({ status: 'delivered' })
    // A delivered email cannot fail any more.
    await deliverMime(bounce(second.message_id, 'failed'))
    expect(await emailOf(bench, second.email_id)).toMatchObject({ status: 'delivered' })
    const unknown = bounce('00000000-0000-7000-8000-000000000000@agents.example', 'failed')
    expect((await deliverMime(unknown)).body).toMatchObject({ status: 'refused' })
    expect(await inboxOf('kee')).toEqual([])
  })

  it('an email is stored but not announced if the operator has disabled the type of notices', async () => {
    const { gate, deliverJson, inboxOf } = await openInboundBench(open)
    await gate.registerTaskType(admin(), { type: 'email.received', enabled: false })
    expect((await deliverJson(postmark())).body.status).toBe('received')
    expect(await inboxOf('kee')).toEqual([])
    expect((await gate.listEmails(KEE, { direction: 'inbound' })).emails).toHaveLength(1)
  })

  it('a notice that fails does not block other notices', async () => {
    const bench = await openInboundBench(open)
    const { gate, deliverJson, inboxOf } = bench
    // A notice for a missing email.
    await gate.createTask(KEE, {
      type: 'email.received',
      payload: { email_id: 'none' },
      requirements: { capabilities: ['asyncgate.mail'] },
    })
    expect((await deliverJson(postmark())).body.status).toBe('received')
    const received = await inboxOf('kee')
    expect(received.filter((notice) => JSON.stringify(notice).includes('Dear Kee'))).toHaveLength(1)
    expect((await gate.listTasks(KEE, { status: 'queued' })).tasks).toEqual([])
  })

  it('the type of notices is registered if only registered types are accepted', async () => {
    const bench = await openInboundBench(open, { settings: { allow_unknown_task_types: false } })
    expect((await bench.deliverJson(postmark())).body.status).toBe('received')
    expect(await bench.inboxOf('kee')).toHaveLength(1)
  })
})

describeGates(
  'email providers',
  (open) => {
    it('a delivery must be signed or contain the secret', async () => {
      const { deliver, clock } = await openInboundBench(open)
      const body = JSON.stringify(postmark())
      const signed = (at = clock.now, secret = SECRET, signedBody = body) =>
        signedHeaders(secretKey(secret), { id: 'm1', at, body: signedBody })
      const signature = signed()['webhook-signature']
      const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })
      const wrong: [Readonly<Record<string, string>>, string?][] = [
        [{}],
        [signed(clock.now, 'other')],
        [signed(clock.now, SECRET, `${body} `)],
        [signed(clock.now - 301_000)],
        [signed(clock.now + 301_000)],
        [{ 'webhook-signature': '' }],
        [{ 'webhook-signature': signature }],
        [{ ...signed(), 'webhook-id': 'm2' }],
        [{ ...signed(), 'webhook-id': '' }],
        [{ ...signed(), 'webhook-timestamp': String(Math.floor(clock.now / 1000) + 1) }],
        [{ ...signed(), 'webhook-signature': 'v1,zz' }],
        [{ ...signed(), 'webhook-signature': signature.replace('v1', 'v1a') }],
        [basic('postmark:other')],
        [basic(SECRET)],
        [{ authorization: `Bearer ${SECRET}` }],
        [{}, '?token=other'],
        [{}, '?token='],
        [{ 'x-twilio-email-event-webhook-signature': 'AA==' }],
        // An invalid signature is refused even if the secret is correct.
        [{ ...signed(clock.now, 'other'), ...basic(`postmark:${SECRET}`) }],
        [signed(clock.now, 'other'), `?token=${SECRET}`],
      ]
      for (const [headers, query] of wrong) {
        const answer = await deliver(JSON_TYPE, body, headers, query)
        expect(answer, JSON.stringify([headers, query])).toMatchObject({
          status: 401,
          body: { code: 'UNAUTHENTICATED' },
        })
      }
      const right: [Readonly<Record<string, string>>, string?][] = [
        [signed()],
        [signed(clock.now - 299_000)],
        [
          {
            ...signed(),
            'webhook-signature': `${signed(clock.now, 'old')['webhook-signature']} v2,x ${signature}`,
          },
        ],
        [basic(`postmark:${SECRET}`)],
        [{}, `?token=${SECRET}`],
      ]
      for (const [headers, query] of right) {
        const answer = await deliver(JSON_TYPE, body, headers, query)
        expect(answer.status, JSON.stringify([headers, query])).toBe(200)
      }
    })

    it('a malformed, old or unverifiable signature is refused before the body is read', async () => {
      const { deliver, clock } = await openInboundBench(open)
      // Over the body limit: an authenticated provider would get an error about the size.
      const body = 'x'.repeat(3 * 1024 * 1024)
      const unverifiable = [
        { 'webhook-signature': 'anything' },
        signedHeaders(secretKey(SECRET), { id: 'm1', at: clock.now - 301_000, body }),
        { 'x-twilio-email-event-webhook-signature': 'AA==' },
      ]
      for (const headers of unverifiable) expect((await deliver(JSON_TYPE, body, headers)).status).toBe(401)
      const signed = signedHeaders(secretKey(SECRET), { id: 'm1', at: clock.now, body })
      expect((await deliver(JSON_TYPE, body, signed)).status).toBe(413)
    })

    it('the signature of SendGrid is accepted', async () => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      const mail_sendgrid_public_key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
      const { deliver, clock } = await openInboundBench(open, {
        emailSettings: { mail_sendgrid_public_key, mail_webhook_secret: null },
      })
      const body = form(sendGridFields())
      const type = `multipart/form-data; boundary=${BOUNDARY}`
      const signed = (seconds: number, bytes: Buffer, key = privateKey) => ({
        'x-twilio-email-event-webhook-timestamp': String(seconds),
        'x-twilio-email-event-webhook-signature': sign(
          'sha256',
          Buffer.concat([Buffer.from(String(seconds)), bytes]),
          key,
        ).toString('base64'),
      })
      const now = Math.floor(clock.now / 1000)
      const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
      for (const headers of [
        signed(now, Buffer.concat([body, Buffer.from(' ')])),
        signed(now - 301, body),
        signed(now, body, other),
        { ...signed(now, body), 'x-twilio-email-event-webhook-timestamp': String(now - 1) },
        {
          'x-twilio-email-event-webhook-signature': 'no base64!',
          'x-twilio-email-event-webhook-timestamp': `${now}`,
        },
        signedHeaders(secretKey(''), { id: 'm1', at: clock.now, body }),
      ]) {
        expect(await deliver(type, body, headers)).toMatchObject({ status: 401 })
      }
      expect(await deliver(type, body, signed(now, body))).toMatchObject({
        status: 200,
        body: { status: 'received' },
      })
      // A repeated request is a duplicate.
      expect(await deliver(type, body, signed(now, body))).toMatchObject({ body: { status: 'duplicate' } })
    })

    it('parsed emails of SendGrid are accepted in any charset, with attachments', async () => {
      const { gate, deliverForm } = await openInboundBench(open)
      const fields = [
        ...sendGridFields({
          text: Buffer.from('sch\u00f6n', 'latin1'),
          charsets: '{"text":"iso-8859-1"}',
          attachments: '1',
          'attachment-info': '{"attachment1":{"filename":"b.bin","type":"application/x-b"}}',
        }),
        {
          name: 'attachment1',
          value: Buffer.from([0, 13, 10, 45, 45, 255]),
          filename: 'b.bin',
          type: 'application/x-b',
        },
      ]
      const { body } = await deliverForm(form(fields))
      expect(await gate.getEmail(KEE, { email_id: String(body.email_id) })).toMatchObject({
        body: 'schön',
        in_reply_to: 'r1@x',
        message_id: 'm1@elsewhere.example',
        attachments: [
          {
            filename: 'b.bin',
            media_type: 'application/x-b',
            content: Buffer.from([0, 13, 10, 45, 45, 255]).toString('base64'),
          },
        ],
      })
    })

    it('raw emails of SendGrid are accepted', async () => {
      const { gate, deliverForm } = await openInboundBench(open)
      const to = '{"to":["gate+hexy@agents.example"],"from":"friend@elsewhere.example"}'
      const { body } = await deliverForm(form(sendGridFields({ email: mime({}, 'As it is'), envelope: to })))
      const email = await gate.getEmail(agent('hexy'), { email_id: String(body.email_id) })
      expect(email).toMatchObject({
        body: 'As it is',
        to: ['gate+hexy@agents.example', 'gate+kee@agents.example'],
      })
    })

    it.each([
      ['application/json', '{'],
      ['application/json', '[]'],
      ['application/json', '{"ToFull": 7}'],
      ['multipart/form-data', 'x'],
      ['multipart/form-data; boundary=b', 'x'],
      ['multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'],
      ['multipart/form-data; boundary=b', '--b\r\nno headers\r\n--b--'],
      ['multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--'],
      ['multipart/form-data; boundary=b', '--b\r\nContent-Type: text/plain\r\n\r\n--b--\r\n'],
    ])('%s %s is refused with the reason', async (type, body) => {
      const { deliver } = await openInboundBench(open)
      expect(await deliver(type, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
    })

    it('a form with more than 200 parts is refused', async () => {
      const { deliver } = await openInboundBench(open)
      const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
      expect(await deliver('multipart/form-data; boundary=b', `${part.repeat(201)}--b--`)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR' },
      })
    })

    it('an unsupported content type is 415', async () => {
      const { deliver } = await openInboundBench(open)
      expect(await deliver('text/plain', 'x')).toMatchObject({ status: 415 })
    })

    it.each([
      ['the sender is not allowed', { FromFull: { Email: 'stranger@elsewhere.example' } }],
      ['the sender is not allowed', { FromFull: { Email: 'friend@sub.open.example' } }],
      ['the sender is not allowed', { FromFull: { Email: 'not an address' } }],
      ['no recipient is an agent of this server', { OriginalRecipient: 'gate@agents.example', ToFull: [] }],
      ['no recipient is an agent of this server', { OriginalRecipient: 'x@evil.example', ToFull: [] }],
      ['the email is too large', { TextBody: 'x'.repeat(70_000) }],
      [
        'the email has too many recipients',
        { ToFull: Array.from({ length: 51 }, (_, n) => ({ Email: `gate+a${n}@agents.example` })) },
      ],
      [
        'the email has too many attachments',
        { Attachments: Array.from({ length: 51 }, () => ({ Name: 'a', Content: '' })) },
      ],
      [
        'the sender is not verified',
        { Headers: [{ Name: 'Received-SPF', Value: 'Fail envelope-from=friend@elsewhere.example' }] },
      ],
      [
        'the sender is not verified',
        { Headers: [{ Name: 'Received-SPF', Value: 'Pass envelope-from=x@evil.example' }] },
      ],
    ])('an email is refused permanently because %s', async (reason, more) => {
      const { deliverJson, refused, store, tenant, inboxOf } = await openInboundBench(open)
      expect(await deliverJson(postmark(more))).toEqual({ status: 200, body: { status: 'refused', reason } })
      expect(refused.map(([why]) => why)).toEqual([reason])
      expect(await store.entries.list(tenant.tenant, 'inbound_email', '', 10)).toEqual([])
      expect(await store.entries.list(tenant.tenant, 'inbound_key', '', 10)).toEqual([])
      expect(await inboxOf('kee')).toEqual([])
    })

    it('no sender is allowed by default', async () => {
      const { deliverJson } = await openInboundBench(open, { emailSettings: { mail_senders: [] } })
      expect((await deliverJson(postmark())).body).toMatchObject({ status: 'refused' })
    })

    it.each([
      ['required', undefined, 'refused'],
      ['required', 'Pass envelope-from=friend@elsewhere.example', 'received'],
      ['if_known', undefined, 'received'],
      ['off', 'Fail envelope-from=friend@elsewhere.example', 'received'],
    ] as const)('with proof %s and SPF %s an email is %s', async (mail_sender_proof, spf, status) => {
      const { deliverJson } = await openInboundBench(open, { emailSettings: { mail_sender_proof } })
      const Headers = spf === undefined ? [] : [{ Name: 'Received-SPF', Value: spf }]
      expect((await deliverJson(postmark({ Headers }))).body.status).toBe(status)
    })

    it('a request over the size limit is refused', async () => {
      const { deliver } = await openInboundBench(open)
      const body = 'x'.repeat(2 * 64 * 1024 + 1024 * 1024 + 1)
      expect(await deliver(JSON_TYPE, body)).toMatchObject({ status: 413 })
    })

    it('infected attachments are refused, and the delivery is retryable while the scanner is unavailable', async () => {
      let answer: () => boolean = () => false
      const scanner = { finds: async () => answer() }
      const { deliverJson } = await openInboundBench(open, { scanner })
      const attached = (id: string) =>
        postmark({
          Headers: [{ Name: 'Message-ID', Value: `<${id}@x>` }],
          Attachments: [{ Name: 'a', Content: 'aGk=' }],
        })
      expect((await deliverJson(attached('a'))).body.status).toBe('received')
      answer = () => true
      expect((await deliverJson(attached('b'))).body).toEqual({
        status: 'refused',
        reason: 'an attachment is infected',
      })
      answer = () => {
        throw new Error('away')
      }
      expect((await deliverJson(attached('c'))).status).toBe(500)
    })

    it('the notice of a long email is truncated, and the email is complete', async () => {
      const { gate, deliverJson, inboxOf } = await openInboundBench(open)
      const TextBody = '\u{1f600}'.repeat(9_000)
      const { body } = await deliverJson(postmark({ TextBody }))
      expect(await inboxOf('kee')).toMatchObject([{ result: { truncated: true } }])
      expect(await gate.getEmail(KEE, { email_id: String(body.email_id) })).toMatchObject({ body: TextBody })
    })

    it('the provider is asked to retry while the database is unavailable', async () => {
      const { deliverJson, store, reports } = await openInboundBench(open)
      const { put } = store.entries
      store.entries.put = () => Promise.reject(new StoreError('unavailable', new Error('away')))
      expect(await deliverJson(postmark())).toMatchObject({
        status: 503,
        body: { code: 'DATABASE_UNAVAILABLE' },
      })
      expect(reports).toHaveLength(1)
      store.entries.put = put
      expect((await deliverJson(postmark())).body.status).toBe('received')
    })

    it('an email without a Message-ID is identified by its content', async () => {
      const { deliverMime } = await openInboundBench(open)
      const without = mime().replace(/^Message-ID.*\r\n/m, '')
      expect((await deliverMime(without)).body.status).toBe('received')
      expect((await deliverMime(without)).body.status).toBe('duplicate')
      expect((await deliverMime(without.replace('Dear', 'My dear'))).body.status).toBe('received')
    })
  },
  ['sqlite'],
)
