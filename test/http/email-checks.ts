import { expect } from 'vitest'
import { EmailQueue } from '../../src/email/queue.ts'
import { MAIL } from '../email/settings.ts'
import { createTask, listOf, type Served, type ServeOptions, textOf } from './support.ts'

const ALICE = { principal_id: 'alice' }
const NOTE = { ...ALICE, to: 'gate+bob@agents.example', subject: 'A note', body: 'Hello Bob' }

/** Email is queued and never sent. */
export const MAILING: ServeOptions = {
  mail: (store) => new EmailQueue({ entries: store.entries, settings: MAIL }),
}

async function written(served: Served, more: object = {}): Promise<string> {
  return textOf(await served.post('/v1/emails', { ...NOTE, ...more }), 'email_id')
}

/** The REST calls of the email operations and their expected responses. */
export const emailChecks = {
  async send_email({ post }: Served) {
    expect(await post('/v1/emails', NOTE)).toMatchObject({
      status: 200,
      body: {
        email_id: expect.any(String),
        message_id: expect.stringMatching(/@agents\.example/),
        status: 'pending',
      },
    })
  },

  async list_emails(served: Served) {
    const email_id = await written(served)
    const answer = await served.get('/v1/emails', { ...ALICE, status: 'pending', limit: 5 })
    expect(answer).toMatchObject({ status: 200, body: { next_cursor: null } })
    expect(listOf(answer, 'emails')).toMatchObject([
      { email_id, direction: 'outbound', to: ['gate+bob@agents.example'], subject: 'A note', attempts: 0 },
    ])
  },

  async get_email(served: Served) {
    const email_id = await written(served)
    expect(await served.get(`/v1/emails/${email_id}`, ALICE)).toMatchObject({
      status: 200,
      body: { email_id, body: 'Hello Bob', attachments: [] },
    })
  },

  async retry_email(served: Served) {
    const email_id = await written(served)
    expect(await served.post(`/v1/emails/${email_id}/retry`, ALICE)).toMatchObject({
      status: 200,
      body: { ok: false, email_id, status: 'pending' },
    })
  },

  async fetch_task_email(served: Served) {
    const task_id = await createTask(served)
    const email_id = await written(served, { task_id })
    expect(await served.get(`/v1/tasks/${task_id}/email`, ALICE)).toMatchObject({
      status: 200,
      body: { email_id, task_id, subject: 'A note', body: 'Hello Bob' },
    })
  },
}
