import { ALICE, BOB, NOWHERE, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const NOTE = { to: 'gate+bob@agents.example', subject: 'A note', body: 'Hello Bob' }
const FULL = {
  ...ALICE,
  ...NOTE,
  subject: 'né \u{1f600}',
  body: { n: 1, list: [true, null, 1.5] },
  attachments: [{ filename: 'a.txt', content: 'aGk=', media_type: 'text/plain' }],
  task_id: '$full.task_id',
  archive_copy: true,
  idempotency_key: 'mail 1',
}

/** Agents send each other email. Nothing leaves the gate, since no sender runs. */
export const emailSteps: readonly Step[] = [
  ok('send_email', FULL, { status: 'pending' }, 'mail'),
  ok('send_email', FULL, { email_id: '$mail.email_id' }),
  no('send_email', { ...FULL, subject: 'other' }, 'IDEMPOTENCY_CONFLICT'),
  no('send_email', { ...ALICE, ...NOTE, to: 'somebody@elsewhere.example' }, 'RECIPIENT_NOT_ALLOWED'),
  no('send_email', { ...ALICE, ...NOTE, subject: 'a\r\nBcc: x@y.example' }, 'VALIDATION_ERROR'),
  no('send_email', { ...ALICE, ...NOTE, to: 'Bob <gate+bob@agents.example>' }, 'VALIDATION_ERROR'),
  no('send_email', { ...ALICE, ...NOTE, body: 'x'.repeat(5000) }, 'PAYLOAD_TOO_LARGE'),
  no('send_email', { ...BOB, ...NOTE, task_id: '$full.task_id' }, 'FORBIDDEN'),
  no('send_email', { principal_kind: 'worker', principal_id: 'w1', ...NOTE }, 'FORBIDDEN'),

  ok('list_emails', { ...ALICE, status: 'pending', limit: 1 }, { emails: [{ subject: 'né \u{1f600}' }] }),
  ok('list_emails', { ...ROOT, task_id: '$full.task_id', cursor: '$mail.email_id' }, { emails: [] }),
  ok('list_emails', { ...BOB, direction: 'inbound' }, { emails: [], next_cursor: null }),
  no('list_emails', { ...BOB, status: 'lost' }, 'VALIDATION_ERROR'),

  ok(
    'get_email',
    { ...BOB, email_id: '$mail.email_id' },
    { body: { n: 1, list: [true, null, 1.5] }, attachments: [{ content: 'aGk=' }] },
  ),
  ok('get_email', { ...ALICE, email_id: '$mail.email_id', include_content: false }, { status: 'pending' }),
  no('get_email', { agent_id: 'carol', email_id: '$mail.email_id' }, 'FORBIDDEN'),
  no('get_email', { ...ALICE, email_id: NOWHERE }, 'EMAIL_NOT_FOUND'),

  ok('retry_email', { ...ALICE, email_id: '$mail.email_id' }, { ok: false, status: 'pending' }),
  no('retry_email', { ...ALICE, email_id: 'none' }, 'EMAIL_NOT_FOUND'),

  ok('fetch_task_email', { ...ALICE, task_id: '$full.task_id' }, { email_id: '$mail.email_id' }),
  no('fetch_task_email', { ...ALICE, task_id: '$plain.task_id' }, 'EMAIL_NOT_FOUND'),
  no('fetch_task_email', { ...BOB, task_id: '$full.task_id' }, 'FORBIDDEN'),
]
