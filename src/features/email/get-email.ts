import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { type Caller, DEFAULT_TENANT, GATE, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { StoreError, type TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { nextCursor, pageLimit, taskId, text } from '../input.ts'
import { readableTask } from '../tasks/read-task.ts'
import { EMAIL_DIRECTIONS, EMAIL_STATUSES, type Email, type Mail, type TenantMail } from './email.ts'
import { emailShape, emailStatusShape, emailView, fullEmailShape, fullEmailView } from './shape.ts'
import { emailListSummary } from './summary.ts'

async function readableEmail(
  engine: Engine,
  mail: Mail,
  caller: Caller,
  tenant: number,
  emailId: string,
): Promise<Email> {
  const email = isUuid(emailId) ? await storing(engine, () => mail.get(tenant, emailId)) : undefined
  if (email === undefined) throw new Fault('EMAIL_NOT_FOUND', { email_id: emailId })
  if (!mayRead(caller, email)) throw forbidden('admin', caller.role)
  return email
}

/** The sender, the agents it is addressed to and admins may read an email. */
function mayRead({ principal, role }: Caller, email: Email): boolean {
  if (seesAll(role) || email.by === principalKey(principal)) return true
  return principal.kind === 'agent' && email.agents.includes(principal.id)
}

/** The email account of a tenant. */
function configuredMail(accounts: TenantMail | undefined, { tenant, name }: TenantRef): Mail {
  const mail = accounts?.of(tenant)
  if (mail !== undefined) return mail
  throw notConfigured(name === DEFAULT_TENANT ? ['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_SMTP_URL'] : IN_FILE)
}

const IN_FILE = ['ASYNCGATE_TENANTS_FILE']

export function sendingMail(accounts: TenantMail | undefined, tenant: TenantRef): Mail {
  const mail = configuredMail(accounts, tenant)
  if (mail.missing.length > 0) throw notConfigured(tenant.name === DEFAULT_TENANT ? mail.missing : IN_FILE)
  return mail
}

function notConfigured(settings: readonly string[]): Fault {
  return new Fault('NOT_CONFIGURED', { feature: 'email', settings })
}

/** Reads or writes stored emails. An outage rejects with the same error as for a command. */
export async function storing<T>(engine: Pick<Engine, 'report'>, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    engine.report(error)
    throw new Fault(error.reason === 'unknown' ? 'OUTCOME_UNKNOWN' : 'DATABASE_UNAVAILABLE')
  }
}

/** Emails that one call of list_emails reads, so that its cost is bounded. */
const MAX_SCANNED = 1000

/** Any text is accepted: a malformed id is an unknown email, not invalid input. */
const emailId = text(64).describe('Id of the email')

const includeContent = z
  .boolean()
  .optional()
  .describe('Whether to return the content of the attachments; true if absent')

export const listEmails = defineOperation({
  name: 'list_emails',
  title: 'List emails',
  description:
    'The emails that you sent, or with direction inbound those that you received, oldest first. A page may be short: continue with next_cursor as cursor until it is null. Admins see all emails of the tenant.',
  input: z.strictObject({
    status: z.enum(EMAIL_STATUSES).optional().describe('Only emails with this status'),
    direction: z
      .enum(EMAIL_DIRECTIONS)
      .optional()
      .describe('Only emails of this direction; outbound if absent, or inbound if status is received'),
    task_id: taskId.optional().describe('Only emails about this task'),
    limit: pageLimit,
    cursor: text(64).optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({
    emails: z.array(emailShape).readonly().describe('The emails of this page, without their content'),
    next_cursor: nextCursor,
  }),
  summary: emailListSummary,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/emails' },
  async run({ engine, mail: configured }, caller, { status, direction, task_id, limit, cursor }) {
    const ref = await engine.tenant(caller.tenant)
    const mail = configuredMail(configured, ref)
    const { tenant } = ref
    const wanted = direction ?? (status === 'received' ? 'inbound' : 'outbound')
    const scanned = await storing(engine, () => mail.list(tenant, wanted, cursor ?? '', MAX_SCANNED))
    const emails: Email[] = []
    let last: Email | undefined
    for (const email of scanned) {
      if (emails.length === limit) break
      last = email
      const fits =
        (status === undefined || email.status === status) &&
        (task_id === undefined || email.task_id === task_id)
      if (fits && mayRead(caller, email)) emails.push(email)
    }
    const more = last !== undefined && (scanned.length === MAX_SCANNED || last !== scanned.at(-1))
    return { emails: emails.map(emailView), next_cursor: more ? (last?.email_id ?? null) : null }
  },
})

export const getEmail = defineOperation({
  name: 'get_email',
  title: 'Get an email',
  description:
    'One email with its body (JSON if it carries JSON) and attachments. With include_content false the content of the attachments is left out.',
  input: z.strictObject({ email_id: emailId, include_content: includeContent }),
  output: fullEmailShape,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/emails/{email_id}' },
  effect: WRITES_ONCE,
  async run({ engine, mail: configured }, caller, { email_id, include_content = true }) {
    const ref = await engine.tenant(caller.tenant)
    const mail = configuredMail(configured, ref)
    const { tenant } = ref
    const email = await readableEmail(engine, mail, caller, tenant, email_id)
    return readContent(engine, mail, tenant, email, include_content)
  },
})

export const retryEmail = defineOperation({
  name: 'retry_email',
  title: 'Retry a failed email',
  description:
    'Queues an email again whose status is failed. An email with another status is left unchanged, and ok is false.',
  input: z.strictObject({ email_id: emailId }),
  output: z.object({
    ok: z.boolean().describe('Whether this call queued the email again'),
    email_id: z.string().describe('Id of the email'),
    status: emailStatusShape,
  }),
  actor: 'agent',
  access: 'create',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/emails/{email_id}/retry' },
  effect: WRITES_ONCE,
  async run({ engine, mail: configured }, caller, { email_id }) {
    const ref = await engine.tenant(caller.tenant)
    const mail = sendingMail(configured, ref)
    const { tenant } = ref
    const email = await readableEmail(engine, mail, caller, tenant, email_id)
    const retried = await storing(engine, () => mail.retry(tenant, email_id))
    return { ok: retried !== undefined, email_id, status: (retried ?? email).status }
  },
})

export const fetchTaskEmail = defineOperation({
  name: 'fetch_task_email',
  title: 'Get the email of a task',
  description:
    'The email with the result of a task, or the newest email about the task if there is none. The body is JSON if the email carries JSON. list_emails with task_id returns all emails of a task.',
  input: z.strictObject({ task_id: taskId, include_content: includeContent }),
  output: fullEmailShape,
  access: 'read',
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/email' },
  effect: WRITES_ONCE,
  async run({ engine, mail: configured }, caller, { task_id, include_content = true }) {
    const ref = await engine.tenant(caller.tenant)
    const mail = configuredMail(configured, ref)
    const { tenant } = ref
    await readableTask(engine, caller, task_id)
    const emails = await storing(engine, () => mail.ofTask(tenant, task_id))
    const email = emails.findLast(isResult) ?? emails.at(-1)
    if (email === undefined) throw new Fault('EMAIL_NOT_FOUND', { task_id })
    return readContent(engine, mail, tenant, email, include_content)
  },
})

/** The email with its content. From then on it counts as fetched. */
async function readContent(
  engine: Engine,
  mail: Mail,
  tenant: number,
  email: Email,
  withAttachments: boolean,
): Promise<z.output<typeof fullEmailShape>> {
  const content = await storing(engine, () => mail.content(tenant, email))
  const fetched = await storing(engine, () => mail.fetched(tenant, email))
  return fullEmailView(fetched, content, withAttachments)
}

/** The server itself sends no emails other than results. */
function isResult({ direction, by }: Email): boolean {
  return direction === 'outbound' && by === GATE
}
