const text = { type: 'string' }

/** The task types of the demo. Waits and runs are in seconds. */
export const TYPES = [
  {
    type: 'report.summarise',
    description: 'Summarises a document in a few sentences.',
    worker: 'summariser-1',
    wait: 2,
    run: 14,
    payload: (n: number) => ({ document: `https://files.example/reports/${1200 + n}.pdf`, sentences: 5 }),
    input_schema: {
      type: 'object',
      required: ['document'],
      properties: { document: { ...text, format: 'uri' }, sentences: { type: 'integer', minimum: 1 } },
    },
    result: { text: 'Revenue grew by 4 percent; costs were flat.' },
    error: { code: 'DOCUMENT_TOO_LONG', message: 'The document has 412 pages; the model accepts 200.' },
    failures: 0.04,
  },
  {
    type: 'email.send',
    description: 'Sends an email to a customer.',
    worker: 'mailer-1',
    wait: 0.4,
    run: 1.2,
    payload: (n: number) => ({ to: `customer-${n}@example.com`, subject: 'Your order has shipped' }),
    input_schema: { type: 'object', required: ['to', 'subject'], properties: { to: text, subject: text } },
    result: { message_id: '<4f1c@mail.example>' },
    error: { code: 'SMTP_REFUSED', message: '550 5.1.1 The mailbox does not exist.' },
    failures: 0.07,
  },
  {
    type: 'image.resize',
    description: 'Scales an image.',
    worker: 'images-1',
    wait: 1,
    run: 3.5,
    payload: (n: number) => ({ url: `https://cdn.example/products/${n}.png`, width: 640 }),
    input_schema: {
      type: 'object',
      required: ['url', 'width'],
      properties: { url: { ...text, format: 'uri' }, width: { type: 'integer' } },
    },
    result: { url: 'https://cdn.example/products/640.png' },
    error: { code: 'DECODE_FAILED', message: 'The file is not a PNG.' },
    failures: 0.02,
  },
] as const

export type DemoType = (typeof TYPES)[number]
