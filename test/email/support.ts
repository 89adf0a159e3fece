import type { ErrorCode } from '../../src/core/errors.ts'
import { EmailQueue } from '../../src/email/queue.ts'
import { Sender } from '../../src/email/sender.ts'
import type { EmailSettings, SmtpSettings } from '../../src/email/settings.ts'
import { openSmtp, type Transport } from '../../src/email/smtp.ts'
import type { Store, TenantRef } from '../../src/store/store.ts'
import type { Bench, ManualClock, Open, OpenOptions } from '../support/gates.ts'
import { MAIL } from './settings.ts'

export { MAIL, NOWHERE } from './settings.ts'

export interface EmailBench extends Bench {
  readonly queue: EmailQueue
  readonly tenant: TenantRef
  /** Errors that senders of this gate reported. */
  readonly reports: unknown[]
  senderOn(transport: Transport): Sender
  smtpSender(settings: SmtpSettings): Promise<Sender>
}

export interface EmailBenchOptions extends OpenOptions {
  readonly emailSettings?: Partial<EmailSettings>
}

/** A gate with email and a fixed clock. Emails are sent only by explicit calls. */
export async function openEmailBench(open: Open, options: EmailBenchOptions = {}): Promise<EmailBench> {
  const settings = { ...MAIL, ...options.emailSettings }
  const queues: EmailQueue[] = []
  const mail = (store: Store, clock: ManualClock) => {
    const queue = new EmailQueue({ entries: store.entries, settings, now: () => clock.now })
    queues.push(queue)
    return queue
  }
  const bench = await open({ ...options, mail })
  const [queue] = queues
  if (queue === undefined) throw new Error('the gate was opened without mail')
  const reports: unknown[] = []
  const senderOn = (transport: Transport) =>
    new Sender({ queue, transport, report: (error) => reports.push(error) })
  return {
    ...bench,
    queue,
    tenant: await bench.store.tenant('default'),
    reports,
    senderOn,
    smtpSender: async (smtp) => senderOn(await openSmtp(smtp, settings.mail_from)),
  }
}

/** The email of an entry, which must exist. */
export async function emailOf({ queue, tenant }: EmailBench, emailId: string) {
  const email = await queue.get(tenant.tenant, emailId)
  if (email === undefined) throw new Error(`there is no mail ${emailId}`)
  return email
}

/** The shape of an expected fault. */
export function fault(code: ErrorCode, details: object = {}) {
  return { name: 'Fault', code, details }
}
