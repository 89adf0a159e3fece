import { z } from 'zod'
import { cleanLine } from '../../util/untrusted-text.ts'
import { nextCursor } from '../input.ts'
import { age, summaryView } from '../summary.ts'
import { ageShape } from '../tasks/summary.ts'
import { type EmailView, emailStatusShape } from './shape.ts'

const MAX_SUBJECT = 80
const MAX_ADDRESSES = 80
const MAX_ERROR = 120

const rowShape = z.object({
  email_id: z.string().describe('Id of the email'),
  status: emailStatusShape,
  age: ageShape.describe('Time since the email was queued or received, such as 3m'),
  from: z.string().describe('Address of the sender'),
  to: z.string().describe('Addresses of the recipients; cut if there are many'),
  subject: z.string().describe('Subject line'),
  task_id: z.string().optional().describe('The task that the email is about'),
  error: z.string().optional().describe('Why the last attempt to send it failed, in one line'),
})

export const emailListSummary = summaryView({
  shape: z.object({ emails: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 15 },
  of: (page: { emails: readonly EmailView[]; next_cursor: string | null }, now) => ({
    emails: page.emails.map((email) => ({
      email_id: email.email_id,
      status: email.status,
      age: age(email.created_at, now),
      from: cleanLine(email.from, MAX_ADDRESSES),
      to: cleanLine(email.to.join(', '), MAX_ADDRESSES),
      subject: cleanLine(email.subject, MAX_SUBJECT),
      ...(email.task_id !== null && { task_id: email.task_id }),
      ...(email.error !== null && { error: cleanLine(email.error, MAX_ERROR) }),
    })),
    next_cursor: page.next_cursor,
  }),
})
