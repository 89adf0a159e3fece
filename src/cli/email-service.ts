import { DEFAULT_TENANT } from '../auth/credential.ts'
import type { MailConfig } from '../config/mail.ts'
import { type Logger, logErrors } from '../http/log.ts'
import { MailService } from '../mail/service.ts'
import type { Store } from '../store/store.ts'

/** The mail of a server. It does nothing until it is started. */
export async function openMail(settings: MailConfig, store: Store, logger: Logger): Promise<MailService> {
  return new MailService({
    store,
    settings,
    tenant: await store.tenant(DEFAULT_TENANT),
    report: logErrors(logger),
    onRefused: (reason, { from, message_id }) =>
      logger.warn({ reason, from, message_id: message_id?.slice(0, 255) }, 'a mail was turned away'),
  })
}
