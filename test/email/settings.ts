import type { EmailSettings, SmtpSettings } from '../../src/email/settings.ts'

/** A port without a listener. */
export const NOWHERE: SmtpSettings = { host: '127.0.0.1', port: 1, user: null, password: null, tls: 'none' }

export const MAIL: EmailSettings = {
  mail_from: 'gate@agents.example',
  mail_domain: 'agents.example',
  mail_addressing: 'plus',
  mail_agents: [],
  mail_recipients: ['friend@elsewhere.example', 'open.example'],
  mail_senders: ['friend@elsewhere.example', 'open.example'],
  mail_sender_proof: 'if_known',
  mail_authserv_id: null,
  mail_max_bytes: 64 * 1024,
  mail_max_attempts: 3,
  mail_retry_backoff_seconds: 30,
  mail_max_per_hour: 0,
  mail_retention_days: 30,
  mail_webhook_secret: 'a-secret-for-tests',
  mail_sendgrid_public_key: null,
  mail_clamd: null,
  smtp: NOWHERE,
  imap: null,
}
