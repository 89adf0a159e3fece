import { checkRole, forbidden, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { type Caller, GATE, principalKey } from '../../core/principal.ts'
import { StoreError } from '../../store/store.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import { readableTask } from '../tasks/read-task.ts'
import type { Email, Mail } from './email.ts'
import {
  contentOf,
  fetchTaskEmailInput,
  getEmailInput,
  listEmailsInput,
  retryEmailInput,
  sendEmailInput,
} from './input.ts'
import { type EmailView, emailView, type FullEmailView, fullEmailView } from './shapes.ts'

/** Mails that one call looks at, so that its cost is bounded however many there are. */
const SCANNED = 1000

/** Queues a mail; it is sent soon after. */
export async function sendEmail(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'create')
  const asked = parse(sendEmailInput, input)
  const mail = sendingMail(engine)
  const { tenant } = await engine.tenant(caller.tenant)
  if (!mail.mayReach(asked.to)) throw new Fault('RECIPIENT_NOT_ALLOWED', { to: asked.to })
  if (asked.task_id !== undefined) await readableTask(engine, caller, asked.task_id)
  const { kind, id } = caller.principal
  const email = await keeping(engine, async () =>
    mail.queue(tenant, {
      from: (kind === 'agent' ? await mail.addressOf(tenant, id) : undefined) ?? mail.from,
      to: asked.to,
      subject: asked.subject,
      content: contentOf(asked, mail.maxBytes),
      task_id: asked.task_id ?? null,
      by: principalKey(caller.principal),
      idempotency_key: asked.idempotency_key ?? null,
      archive_copy: asked.archive_copy ?? true,
      limited_by: principalKey(caller.principal),
    }),
  )
  return { email_id: email.email_id, message_id: email.message_id, status: email.status }
}

export interface EmailPage {
  readonly emails: readonly EmailView[]
  /** Null at the end. A page may hold fewer than `limit` and still go on. */
  readonly next_cursor: string | null
}

/** Oldest first. Agents see what they sent and what is addressed to them, admins all of the tenant. */
export async function listEmails(engine: Services, caller: Caller, input: unknown): Promise<EmailPage> {
  checkRole(caller, 'list')
  const { status, direction, task_id, limit, cursor } = parse(listEmailsInput, input)
  const mail = anyMail(engine)
  const { tenant } = await engine.tenant(caller.tenant)
  const way = direction ?? (status === 'received' ? 'inbound' : 'outbound')
  const seen = await keeping(engine, () => mail.list(tenant, way, cursor ?? '', SCANNED))
  const emails: Email[] = []
  let last: Email | undefined
  for (const email of seen) {
    if (emails.length === limit) break
    last = email
    const fits =
      (status === undefined || email.status === status) &&
      (task_id === undefined || email.task_id === task_id)
    if (fits && mayRead(caller, email)) emails.push(email)
  }
  const more = last !== undefined && (seen.length === SCANNED || last !== seen.at(-1))
  return { emails: emails.map(emailView), next_cursor: more ? (last?.email_id ?? null) : null }
}

export async function getEmail(engine: Services, caller: Caller, input: unknown): Promise<FullEmailView> {
  checkRole(caller, 'list')
  const { email_id, include_content } = parse(getEmailInput, input)
  const mail = anyMail(engine)
  const { tenant } = await engine.tenant(caller.tenant)
  const email = await readableEmail(engine, mail, caller, tenant, email_id)
  return readFully(engine, mail, tenant, email, include_content ?? true)
}

/** Takes up a mail again that has failed. Any other is left as it is. */
export async function retryEmail(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'create')
  const { email_id } = parse(retryEmailInput, input)
  const mail = sendingMail(engine)
  const { tenant } = await engine.tenant(caller.tenant)
  const email = await readableEmail(engine, mail, caller, tenant, email_id)
  const again = await keeping(engine, () => mail.retry(tenant, email_id))
  return { ok: again !== undefined, email_id, status: (again ?? email).status }
}

/** The mail with the result of a task, if it went out by mail; or else the newest that is about it. */
export async function fetchTaskEmail(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<FullEmailView> {
  checkRole(caller, 'read')
  const { task_id, include_content } = parse(fetchTaskEmailInput, input)
  const mail = anyMail(engine)
  await readableTask(engine, caller, task_id)
  const { tenant } = await engine.tenant(caller.tenant)
  const emails = await keeping(engine, () => mail.ofTask(tenant, task_id))
  const email = emails.findLast(isResult) ?? emails.at(-1)
  if (email === undefined) throw new Fault('EMAIL_NOT_FOUND', { task_id })
  return readFully(engine, mail, tenant, email, include_content ?? true)
}

async function readFully(
  engine: Services,
  mail: Mail,
  tenant: number,
  email: Email,
  withAttachments: boolean,
): Promise<FullEmailView> {
  const content = await keeping(engine, () => mail.content(tenant, email))
  const read = await keeping(engine, () => mail.fetched(tenant, email))
  return fullEmailView(read, content, withAttachments)
}

async function readableEmail(
  engine: Services,
  mail: Mail,
  caller: Caller,
  tenant: number,
  emailId: string,
): Promise<Email> {
  const email = isUuid(emailId) ? await keeping(engine, () => mail.get(tenant, emailId)) : undefined
  if (email === undefined) throw new Fault('EMAIL_NOT_FOUND', { email_id: emailId })
  if (!mayRead(caller, email)) throw forbidden('admin', caller.role)
  return email
}

/** The gate itself sends nothing but results. */
function isResult({ direction, by }: Email): boolean {
  return direction === 'outbound' && by === GATE
}

/** A mail is shown to who sent it, to the agents it is addressed to, and to admins. */
function mayRead({ principal, role }: Caller, email: Email): boolean {
  if (seesAll(role) || email.by === principalKey(principal)) return true
  return principal.kind === 'agent' && email.agents.includes(principal.id)
}

function anyMail({ mail }: Services): Mail {
  if (mail === undefined) throw notConfigured(['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_SMTP_URL'])
  return mail
}

function sendingMail(engine: Services): Mail {
  const mail = anyMail(engine)
  if (mail.missing.length > 0) throw notConfigured(mail.missing)
  return mail
}

function notConfigured(settings: readonly string[]): Fault {
  return new Fault('NOT_CONFIGURED', { feature: 'email', settings })
}

/** Tells the caller of an outage as it would be told by any other write. */
async function keeping<T>(engine: Services, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    engine.report(error)
    throw new Fault(error.reason === 'unknown' ? 'OUTCOME_UNKNOWN' : 'DATABASE_UNAVAILABLE')
  }
}
