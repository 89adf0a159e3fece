import { z } from 'zod'
import { operation, READS, WRITES, WRITES_ONCE } from '../define-operation.ts'
import { EMAIL_STATUSES } from './email.ts'
import {
  fetchTaskEmailInput,
  getEmailInput,
  listEmailsInput,
  retryEmailInput,
  sendEmailInput,
} from './input.ts'
import { emailShape, fullEmailShape } from './shapes.ts'
import { fetchTaskEmail, getEmail, listEmails, retryEmail, sendEmail } from './verbs.ts'

const status = z.enum(EMAIL_STATUSES)

export const emailOperations = [
  operation({
    name: 'send_email',
    title: 'Send a mail',
    description:
      'Sends a mail to another agent of this gate, or to an address that the operator allows. Answers at once: the mail is queued durably, and tried again if the mail server does not take it. ' +
      'Look at its status later with get_email. Give an idempotency_key so that sending the same request again never sends two mails.',
    input: sendEmailInput,
    output: z.object({ email_id: z.string(), message_id: z.string(), status }),
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/emails' },
    effect: WRITES,
    call: sendEmail,
  }),
  operation({
    name: 'list_emails',
    title: 'List mails',
    description:
      'The mails you sent, or with direction inbound those you got, oldest first. Go on with next_cursor as cursor until it is null.',
    input: listEmailsInput,
    output: z.object({ emails: z.array(emailShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/emails' },
    effect: READS,
    call: listEmails,
  }),
  operation({
    name: 'get_email',
    title: 'Read a mail',
    description:
      'One mail with its body (JSON if it carries JSON) and attachments. With include_content false the content of the attachments is left out.',
    input: getEmailInput,
    output: fullEmailShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/emails/{email_id}' },
    effect: WRITES_ONCE,
    call: getEmail,
  }),
  operation({
    name: 'retry_email',
    title: 'Send a failed mail again',
    description: 'Takes up a mail again whose status is failed. Any other is left as it is, and ok is false.',
    input: retryEmailInput,
    output: z.object({ ok: z.boolean(), email_id: z.string(), status }),
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/emails/{email_id}/retry' },
    effect: WRITES_ONCE,
    call: retryEmail,
  }),
  operation({
    name: 'fetch_task_email',
    title: 'Read the mail of a task',
    description:
      'The mail with the result of a task, or else the newest mail about it. The body is JSON if the mail carries JSON. list_emails with task_id shows all mails of a task.',
    input: fetchTaskEmailInput,
    output: fullEmailShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/{task_id}/email' },
    effect: WRITES_ONCE,
    call: fetchTaskEmail,
  }),
] as const
