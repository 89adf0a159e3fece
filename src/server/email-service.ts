import { DEFAULT_TENANT } from '../auth/credential.ts'
import { CliError, EXIT } from '../cli/exit.ts'
import type { MailConfig } from '../config/mail.ts'
import { openDkim } from '../email/dkim.ts'
import { MailService } from '../email/service.ts'
import type { DkimSettings } from '../email/settings.ts'
import { type Logger, logErrors } from '../http/log.ts'
import type { Store } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'

/** The mail of a server. It does nothing until it is started. */
export async function openMail(settings: MailConfig, store: Store, logger: Logger): Promise<MailService> {
  if (settings.dkim !== null) await checkDkim(settings.dkim)
  return new MailService({
    store,
    settings,
    tenant: await store.tenant(DEFAULT_TENANT),
    report: logErrors(logger),
    onRefused: (reason, { from, message_id }) =>
      logger.warn({ reason, from, message_id: message_id?.slice(0, 255) }, 'a mail was turned away'),
  })
}

/** A key that cannot be used ends the start, before anything is opened. */
async function checkDkim(settings: DkimSettings): Promise<void> {
  try {
    await openDkim(settings)
  } catch (error) {
    const hint =
      'Set ASYNCGATE_MAIL_DKIM_KEY_FILE to the private key, as of: openssl genrsa -out dkim.pem 2048'
    throw new CliError(EXIT.usage, messageOf(error), hint)
  }
}
