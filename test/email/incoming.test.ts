import { describe, expect, it } from 'vitest'
import {
  authenticationResults,
  deliveryReport,
  messageIdsIn,
  proofOf,
  receivedSpf,
} from '../../src/email/headers.ts'
import { plainText, safeEmail, textOfHtml } from '../../src/email/incoming.ts'
import { parseMime } from '../../src/email/mime.ts'
import { parsePostmark } from '../../src/email/postmark.ts'
import { bounce, postmark } from './messages.ts'

const RAW = {
  message_id: 'm1@x.example',
  answers: [],
  from: 'a@b.example',
  recipients: ['gate+kee@agents.example'],
  subject: 'Hello',
  text: 'Text',
  html: undefined,
  attachments: [],
  proof: 'unknown',
} as const

describe('sanitized email', () => {
  it('text has uniform line breaks and no control characters', () => {
    expect(plainText('a\r\nb\rc\u0000\u001b[31md\te\ud800 \n\n')).toBe('a\nb\nc[31md\te\ufffd')
  })

  it('a subject is one line', () => {
    expect(safeEmail({ ...RAW, subject: ' a\r\n b\u0000c ' }).subject).toBe('a bc')
    expect(safeEmail({ ...RAW, subject: 'x'.repeat(600) }).subject).toHaveLength(500)
  })

  it('HTML is converted to plain text', () => {
    const html = `<html><head><title>no</title><style>p{}</style></head><body onload="x()">
      <!-- hidden <b>no</b> --><script>alert("no")</script><p>Dear&nbsp;Kee &amp; &lt;all&gt;,</p>
      <div>one<br>two &#x1F600; &#65;</div><img src=x onerror=alert(1)><a href="javascript:x">link</a>
      <svg><text>no</text></svg><p>end`
    const text = textOfHtml(html)
    expect(text).toBe('Dear Kee & <all>,\n\none\ntwo \u{1f600} A\nlink\nend')
    expect(safeEmail({ ...RAW, text: ' ', html }).text).toBe(text)
    expect(safeEmail({ ...RAW, text: 'Text', html }).text).toBe('Text')
  })

  it.each([
    ['<script>alert(1)', ''],
    ['a<script src=x', 'a'],
    ['<scr<script></script>ipt>x', 'x'],
    ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
    ['&bogus; &#99999999; &amp;lt;', '&bogus; &#99999999; &lt;'],
    ['<!-- never closed <p>x', ''],
  ])('broken HTML is converted safely: %s', (html, text) => {
    expect(textOfHtml(html)).toBe(text)
  })

  it('a long run of open tags is handled quickly', () => {
    for (const piece of [
      '<',
      '<a ',
      '<p ',
      '<br ',
      '</p ',
      '<!--',
      '<script',
      '</script ',
      '&',
      '( ',
      ' \n',
    ]) {
      expect(textOfHtml(piece.repeat(200_000)).length).toBeLessThan(2_000_000)
    }
  })

  it('attachment names are not paths', () => {
    const names = ['../../etc/passwd', 'C:\\x\\y.exe', '.hidden', '', 'a\r\nb', '...', 'ok.txt']
    const attachments = names.map((filename) => ({ filename, media_type: 'x', content: Buffer.from('1') }))
    const sanitized = safeEmail({ ...RAW, attachments }).attachments
    expect(sanitized.map(({ filename }) => filename)).toEqual([
      'passwd',
      'y.exe',
      'hidden',
      'attachment',
      'a b',
      'attachment',
      'ok.txt',
    ])
    expect(sanitized[0]).toMatchObject({ media_type: 'application/octet-stream', content: 'MQ==' })
  })

  it('invalid addresses are dropped', () => {
    const mail = safeEmail({
      ...RAW,
      from: 'a@b\r\nX: y',
      recipients: ['x', undefined, 'ok@x.example', 'a b@c'],
    })
    expect(mail).toMatchObject({ from: undefined, recipients: ['ok@x.example'] })
  })
})

describe('Message-IDs', () => {
  it.each([
    ['<a@b> <c@d>', ['a@b', 'c@d']],
    ['a@b', ['a@b']],
    ['', []],
    ['some words', []],
    ['<>', []],
    ['<a@b', []],
    [undefined, []],
  ])('the header %j contains the ids %j', (header, ids) => {
    expect(messageIdsIn(header)).toEqual(ids)
  })
})

describe('sender verification', () => {
  const FROM = 'kee@example.com'
  const findings = (signed: string[], spf?: string, dmarc = false) => ({ signed, spf, dmarc })

  it.each([
    [undefined, 'unknown'],
    [findings([]), 'fail'],
    [findings(['example.com']), 'pass'],
    [findings(['EXAMPLE.com']), 'pass'],
    [findings(['mail.example.com']), 'pass'],
    [findings(['evil.example']), 'fail'],
    [findings(['com']), 'fail'],
    [findings(['notexample.com']), 'fail'],
    [findings([], 'bounces.example.com'), 'pass'],
    [findings([], 'evil.example'), 'fail'],
    [findings([], undefined, true), 'pass'],
  ])('%j is %s', (found, proof) => {
    expect(proofOf(FROM, found)).toBe(proof)
  })

  it('verification requires a From address', () => {
    expect(proofOf(undefined, findings(['example.com']))).toBe('fail')
  })

  it('Authentication-Results are read from the trusted server only', () => {
    const header =
      'mx.agents.example 1; spf=pass (sender ok) smtp.mailfrom=bounce@a.example; dkim=fail header.d=b.example;' +
      ' dkim=pass header.i=@c.example header.s=x; dmarc=pass (p=none) header.from=a.example'
    expect(authenticationResults(header, 'MX.agents.example')).toEqual(
      findings(['c.example'], 'a.example', true),
    )
    expect(authenticationResults(header, 'agents.example')).toBeUndefined()
    expect(authenticationResults('mx; dkim=none', 'mx')).toEqual(findings([], undefined, false))
    expect(authenticationResults('mx (dkim=pass header.d=a.example); none', 'mx')).toEqual(findings([]))
  })

  it('Received-SPF is parsed', () => {
    const header = 'Pass (sender SPF authorized) identity=mailfrom; envelope-from=bounce@a.example;'
    expect(receivedSpf(header)).toEqual(findings([], 'a.example'))
    expect(receivedSpf('SoftFail identity=mailfrom; envelope-from=bounce@a.example')).toEqual(findings([]))
  })
})

describe('MIME parsing', () => {
  const mime = [
    'Authentication-Results: mx.agents.example; dkim=pass header.d=elsewhere.example',
    'Authentication-Results: mx.agents.example; dkim=pass header.d=forged.example',
    'Message-ID: <m1@elsewhere.example>',
    'In-Reply-To: <r2@x>',
    'References: <r1@x> <r2@x>',
    'From: A Friend <friend@elsewhere.example>',
    'To: Team: "Kee" <gate+kee@agents.example>, x@y.example;',
    'Cc: gate+hexy@agents.example',
    'X-Original-To: gate+bob@agents.example',
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/html; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<p>sch=F6n</p>',
    '--x',
    'Content-Type: application/json; name=a.json',
    'Content-Disposition: attachment; filename=a.json',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('{"a":1}').toString('base64'),
    '--x--',
    '',
  ].join('\r\n')

  it('all parts of an email are parsed', async () => {
    expect(await parseMime(Buffer.from(mime), 'mx.agents.example')).toEqual({
      message_id: 'm1@elsewhere.example',
      answers: ['r2@x', 'r2@x', 'r1@x'],
      from: 'friend@elsewhere.example',
      recipients: [
        'gate+kee@agents.example',
        'x@y.example',
        'gate+hexy@agents.example',
        'gate+bob@agents.example',
      ],
      subject: 'Grüße',
      text: 'schön',
      attachments: [
        {
          filename: 'a.json',
          media_type: 'application/json',
          content: Buffer.from('{"a":1}').toString('base64'),
        },
      ],
      proof: 'pass',
    })
  })

  it('the sender is unknown without a trusted mail server', async () => {
    expect(await parseMime(Buffer.from(mime), null)).toMatchObject({ proof: 'unknown' })
  })

  it('deeply nested MIME is refused', async () => {
    const nested = Array.from(
      { length: 60 },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
    )
    await expect(parseMime(Buffer.from(nested.join('')), null)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('arbitrary bytes are parsed without an error', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from([0, 255, 13, 10, 0]), Buffer.from('\r\n\r\n')]) {
      expect(await parseMime(bytes, null)).toMatchObject({
        from: undefined,
        recipients: [],
        message_id: undefined,
      })
    }
  })
})

describe('Postmark webhook', () => {
  it('the request is parsed into an email', () => {
    const mail = parsePostmark(
      postmark({
        HtmlBody: '<p>no</p>',
        Headers: [
          { Name: 'Message-ID', Value: '<m1@elsewhere.example>' },
          { Name: 'In-Reply-To', Value: '<r1@x>' },
          { Name: 'Received-SPF', Value: 'Pass (x) envelope-from=b@elsewhere.example' },
        ],
        Attachments: [
          { Name: 'a.txt', Content: 'aGk=', ContentType: 'text/plain; charset=x', ContentLength: 2 },
        ],
      }),
    )
    expect(mail).toEqual({
      message_id: 'm1@elsewhere.example',
      answers: ['r1@x'],
      from: 'friend@elsewhere.example',
      recipients: ['gate+kee@agents.example', 'gate+kee@agents.example'],
      subject: 'Hello',
      text: 'Dear Kee',
      attachments: [{ filename: 'a.txt', media_type: 'text/plain', content: 'aGk=' }],
      proof: 'pass',
    })
  })

  it('the Postmark id is used if the email has no Message-ID', () => {
    expect(parsePostmark(postmark({ Headers: [] })).message_id).toBe('73e6d360-66eb-11e1-8e72-a8904824019b')
  })

  it.each([[[]], ['text'], [null], [{ ToFull: 'x' }], [{ Attachments: [{ Name: 'x' }] }]])(
    'the body %j is refused',
    (body) => {
      expect(() => parsePostmark(body)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }))
    },
  )
})

describe('delivery reports', () => {
  it('a report names the email, the action and the reason', async () => {
    const failed = await parseMime(Buffer.from(bounce('m1@agents.example', 'failed')), null)
    expect(deliveryReport(failed)).toEqual({
      message_id: 'm1@agents.example',
      action: 'failed',
      reason: 'smtp; 550 5.1.1 no such user',
    })
    const delivered = await parseMime(Buffer.from(bounce('m1@agents.example', 'delivered')), null)
    expect(deliveryReport(delivered)).toMatchObject({ action: 'delivered' })
  })

  it('a delay and an ordinary email are not reports', async () => {
    const delayed = await parseMime(Buffer.from(bounce('m1@agents.example', 'delayed')), null)
    expect(deliveryReport(delayed)).toBeUndefined()
    expect(deliveryReport(safeEmail(RAW))).toBeUndefined()
  })
})
