import { forbidden, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { StoreError } from '../../store/store.ts'
import type { Email, Mail } from './email.ts'

export async function readableEmail(
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
export function mayRead({ principal, role }: Caller, email: Email): boolean {
  if (seesAll(role) || email.by === principalKey(principal)) return true
  return principal.kind === 'agent' && email.agents.includes(principal.id)
}

export function configuredMail(mail: Mail | undefined): Mail {
  if (mail === undefined) throw notConfigured(['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_SMTP_URL'])
  return mail
}

export function sendingMail(configured: Mail | undefined): Mail {
  const mail = configuredMail(configured)
  if (mail.missing.length > 0) throw notConfigured(mail.missing)
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
