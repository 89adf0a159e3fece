/** A request of Postmark, as in its documentation. */
export function postmark(more: object = {}): object {
  return {
    FromName: 'A Friend',
    MessageStream: 'inbound',
    From: 'friend@elsewhere.example',
    FromFull: { Email: 'friend@elsewhere.example', Name: 'A Friend', MailboxHash: '' },
    To: '"Kee" <gate+kee@agents.example>',
    ToFull: [{ Email: 'gate+kee@agents.example', Name: 'Kee', MailboxHash: 'kee' }],
    Cc: '',
    CcFull: [],
    Bcc: '',
    BccFull: [],
    OriginalRecipient: 'gate+kee@agents.example',
    Subject: 'Hello',
    MessageID: '73e6d360-66eb-11e1-8e72-a8904824019b',
    ReplyTo: '',
    MailboxHash: 'kee',
    Date: 'Fri, 1 Aug 2014 16:45:32 -0400',
    TextBody: 'Dear Kee',
    HtmlBody: '',
    StrippedTextReply: '',
    Tag: '',
    Headers: [
      { Name: 'X-Spam-Status', Value: 'No' },
      { Name: 'Message-ID', Value: '<m1@elsewhere.example>' },
    ],
    Attachments: [],
    ...more,
  }
}

export interface Field {
  readonly name: string
  readonly value: string | Buffer
  readonly filename?: string
  readonly type?: string
}

export const BOUNDARY = 'xYzZY'

/** A form as SendGrid posts it. */
export function form(fields: readonly Field[]): Buffer {
  const parts = fields.map(({ name, value, filename, type }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n`
    return Buffer.concat([
      Buffer.from(`${head}${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ])
  })
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])
}

/** The fields of SendGrid's Inbound Parse, as in its documentation. */
export function sendGridFields(more: Readonly<Record<string, string | Buffer>> = {}): Field[] {
  const fields: Record<string, string | Buffer> = {
    headers: 'Received: by mx\nMessage-ID: <m1@elsewhere.example>\nIn-Reply-To:\n <r1@x>\nFrom: x\n',
    dkim: '{@elsewhere.example : pass}',
    to: '"Kee" <gate+kee@agents.example>',
    from: 'A Friend <friend@elsewhere.example>',
    text: 'Dear Kee',
    html: '<p>Dear Kee</p>',
    sender_ip: '192.0.2.1',
    envelope: '{"to":["gate+kee@agents.example"],"from":"friend@elsewhere.example"}',
    attachments: '0',
    subject: 'Hello',
    charsets: '{"to":"UTF-8","html":"UTF-8","subject":"UTF-8","from":"UTF-8","text":"UTF-8"}',
    SPF: 'pass',
    ...more,
  }
  return Object.entries(fields).map(([name, value]) => ({ name, value }))
}

/** An email in MIME. */
export function mime(headers: Readonly<Record<string, string>> = {}, text = 'Dear Kee'): string {
  const all = {
    'Message-ID': '<m1@elsewhere.example>',
    From: 'A Friend <friend@elsewhere.example>',
    To: 'gate+kee@agents.example',
    Subject: 'Hello',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${[...lines, '', text].join('\r\n')}\r\n`
}

/** A delivery report about an email of the gate (RFC 3464). */
export function bounce(messageId: string, action: 'failed' | 'delivered' | 'delayed'): string {
  return [
    'From: MAILER-DAEMON@mx.elsewhere.example',
    'To: gate@agents.example',
    'Subject: Delivery Status Notification',
    'Message-ID: <report@mx.elsewhere.example>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'Your mail could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.elsewhere.example',
    '',
    'Final-Recipient: rfc822; friend@elsewhere.example',
    `Action: ${action}`,
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1',
    ' no such user',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    'From: gate@agents.example',
    `Message-ID: <${messageId}>`,
    'Subject: x',
    '',
    '--b--',
    '',
  ].join('\r\n')
}
