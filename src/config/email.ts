import { z } from 'zod'
import { domainOf, nameInAddress } from '../core/address.ts'
import {
  address,
  correspondents,
  domain,
  type Login,
  login,
  names,
  scanner,
  selector,
  sendGridKey,
} from './email-kinds.ts'
import { integer, oneOf, text } from './kinds.ts'
import { isLoopback } from './refusals.ts'

const MIB = 1024 * 1024
const NONE: readonly string[] = []
const tls = oneOf('implicit', 'starttls', 'none')

type Tls = 'implicit' | 'starttls' | 'none'

/** Outgoing and incoming email. MAIL_FROM enables it. */
export const emailTable = z.object({
  mail_from: address.optional('Sender address. Default: email is disabled.'),
  mail_domain: domain.optional('Domain of the addresses of agents. Default: that of MAIL_FROM.'),
  mail_addressing: oneOf('plus', 'name').default(
    'plus',
    'Address of the agent kee if MAIL_FROM is gate@example.com: gate+kee@example.com (plus) or kee@example.com (name).',
  ),
  mail_agents: names.default(
    NONE,
    'Agents that have an address. Default: every agent whose name consists of letters, digits, dots, hyphens and underscores.',
  ),
  mail_recipients: correspondents.default(
    NONE,
    'Allowed recipients besides the agents of this server. * allows everyone.',
  ),
  mail_senders: correspondents.default(
    NONE,
    'Allowed senders besides the agents of this server. * allows everyone.',
  ),
  mail_sender_proof: oneOf('required', 'if_known', 'off').default(
    'if_known',
    'Whether DKIM or SPF must authenticate the sender: always (required), unless there is no result of either (if_known), or never (off).',
  ),
  mail_authserv_id: text.optional(
    'Name of your email server in Authentication-Results headers. Headers of other servers are ignored.',
  ),
  mail_max_bytes: integer(1024, 100 * MIB).default(
    10 * MIB,
    'Maximum size of an email, outgoing or incoming, with attachments.',
  ),
  mail_max_attempts: integer(1, 100).default(12, 'Maximum attempts to send an email.'),
  mail_retry_backoff_seconds: integer(1, 3600).default(
    30,
    'Delay before the second attempt; it doubles each time, up to an hour.',
  ),
  mail_max_per_hour: integer(0).default(
    100,
    'Maximum emails per hour that one sender sends with send_email, and results of one owner that are sent by email; 0 is no limit.',
  ),
  mail_retention_days: integer(0, 3650).default(30, 'Retention of emails; 0 is unlimited.'),
  mail_webhook_secret: text.secret(
    'Secret of POST /webhooks/inbound_email: the signing key, or the password or token in the URL.',
  ),
  mail_sendgrid_public_key: sendGridKey.optional(
    'Public key that verifies the webhook requests of SendGrid.',
  ),
  mail_clamd: scanner.optional('ClamAV daemon that scans incoming attachments.'),
  smtp_url: login('smtp').secret('SMTP server for outgoing email.'),
  smtp_host: text.optional('Host of the SMTP server, instead of SMTP_URL.'),
  smtp_port: integer(1, 65_535).optional(
    'Port of the SMTP server. Default: 465 with implicit TLS, else 587.',
  ),
  smtp_user: text.optional('User name for the SMTP server.'),
  smtp_password: text.secret('Password of SMTP_USER.'),
  smtp_tls: tls.optional(
    'TLS from the start of the connection (implicit), after STARTTLS, or none. Default: implicit for smtps, else starttls.',
  ),
  mail_dkim_selector: selector.optional(
    'DKIM selector: the public key is in the DNS at SELECTOR._domainkey.DOMAIN. Default: emails are not signed.',
  ),
  mail_dkim_key_file: text.optional('File with the RSA private key, in PEM, that signs emails.'),
  mail_dkim_domain: domain.optional(
    'Domain of the DKIM signature. Default: that of the addresses of agents.',
  ),
  imap_url: login('imap').secret('Mailbox to fetch emails from, if no provider delivers them by webhook.'),
  imap_tls: tls.optional('TLS mode of IMAP, as for SMTP_TLS. Default: implicit for imaps, else starttls.'),
  imap_poll_seconds: integer(1, 3600).default(60, 'Polling interval of the mailbox.'),
  imap_inbox: text.default('INBOX', 'Folder of new emails.'),
  imap_archive: text.default('Archive/Tasks', 'Folder for emails that were accepted.'),
  imap_failed: text.default('Failed', 'Folder for emails that were rejected.'),
})

export type EmailValues = z.output<typeof emailTable>

/** The email settings of a server; null if email is disabled. */
export function emailOf(values: EmailValues) {
  const { mail_from, mail_domain, smtp_url, smtp_host, imap_url } = values
  if (mail_from === null) return null
  const smtp = smtp_url ?? (smtp_host === null ? null : hostLogin(values, smtp_host))
  const imap = imap_url
  const smtpTls = values.smtp_tls ?? (smtp?.secure ? 'implicit' : 'starttls')
  const imapTls = values.imap_tls ?? (imap?.secure ? 'implicit' : 'starttls')
  return {
    ...values,
    mail_from,
    mail_domain: mail_domain ?? domainOf(mail_from),
    smtp: smtp && {
      host: smtp.host,
      port: smtp.port ?? (smtpTls === 'implicit' ? 465 : 587),
      user: smtp.user,
      password: smtp.password,
      tls: smtpTls,
    },
    dkim:
      values.mail_dkim_selector === null || values.mail_dkim_key_file === null
        ? null
        : {
            domain: values.mail_dkim_domain ?? mail_domain ?? domainOf(mail_from),
            selector: values.mail_dkim_selector,
            key_file: values.mail_dkim_key_file,
          },
    imap: imap && {
      host: imap.host,
      port: imap.port ?? (imapTls === 'implicit' ? 993 : 143),
      user: imap.user ?? '',
      password: imap.password ?? '',
      tls: imapTls,
      poll_seconds: values.imap_poll_seconds,
      inbox: values.imap_inbox,
      archive: values.imap_archive,
      failed: values.imap_failed,
    },
  }
}

export type EmailConfig = NonNullable<ReturnType<typeof emailOf>>

function hostLogin({ smtp_port, smtp_user, smtp_password, smtp_tls }: EmailValues, host: string): Login {
  return { secure: smtp_tls === 'implicit', host, port: smtp_port, user: smtp_user, password: smtp_password }
}

/** Combinations of values that are not valid. */
export function emailProblems(values: EmailValues): string[] {
  const problems: string[] = []
  const transports = [
    'smtp_url',
    'smtp_host',
    'imap_url',
    'mail_webhook_secret',
    'mail_sendgrid_public_key',
  ] as const
  const used = transports.find((name) => values[name] !== null)
  if (values.mail_from === null && used !== undefined) {
    problems.push(`${used.toUpperCase()} needs MAIL_FROM, the sender address.`)
  }
  if (values.smtp_url !== null && values.smtp_host !== null) {
    problems.push('SMTP_URL and SMTP_HOST are both set: set only one of them.')
  }
  if ((values.mail_dkim_selector === null) !== (values.mail_dkim_key_file === null)) {
    problems.push('MAIL_DKIM_SELECTOR and MAIL_DKIM_KEY_FILE belong together: set both.')
  }
  if (values.imap_url !== null && (values.imap_url.user === null || values.imap_url.password === null)) {
    problems.push('IMAP_URL needs a user and a password.')
  }
  return [...problems, ...sharedNames(values.mail_agents)]
}

/** Two agents cannot share an address. */
function sharedNames(agents: readonly string[]): string[] {
  const seen = new Map<string, string>()
  return agents.flatMap((agent) => {
    const name = nameInAddress(agent)
    const other = seen.get(name)
    seen.set(name, agent)
    return other === undefined
      ? []
      : [`MAIL_AGENTS has ${other} and ${agent}, whose addresses would be the same.`]
  })
}

interface Account {
  readonly tenant: string
  readonly email: EmailConfig
}

/** An email must belong to one tenant, so no two accounts share a mailbox, a sender of webhooks or an address. */
export function accountProblems(accounts: readonly Account[]): string[] {
  return accounts.flatMap(({ tenant, email }, i) =>
    accounts
      .slice(0, i)
      .flatMap((other) =>
        sharedSettings(other.email, email).map(
          (setting) =>
            `The tenants ${other.tenant} and ${tenant} have the same ${setting}: their emails could not be told apart.`,
        ),
      ),
  )
}

function sharedSettings(one: EmailConfig, other: EmailConfig): string[] {
  const isSame = (a: string | null, b: string | null) => a !== null && a.toLowerCase() === b?.toLowerCase()
  const hasNames = [one, other].some(({ mail_addressing }) => mail_addressing === 'name')
  const shared = {
    MAIL_FROM: isSame(one.mail_from, other.mail_from),
    MAIL_DOMAIN: hasNames && isSame(one.mail_domain, other.mail_domain),
    IMAP_URL: isSame(mailboxOf(one), mailboxOf(other)),
    MAIL_WEBHOOK_SECRET:
      one.mail_webhook_secret !== null && one.mail_webhook_secret === other.mail_webhook_secret,
    MAIL_SENDGRID_PUBLIC_KEY:
      one.mail_sendgrid_public_key !== null &&
      one.mail_sendgrid_public_key === other.mail_sendgrid_public_key,
  }
  return Object.entries(shared).flatMap(([setting, isShared]) => (isShared ? [setting] : []))
}

function mailboxOf({ imap }: EmailConfig): string | null {
  return imap && JSON.stringify([imap.host, imap.port, imap.user, imap.inbox])
}

/** Email settings that are not safe. */
export function emailRefusals(email: EmailConfig | null): string[] {
  const bare = (name: string, server: { host: string; tls: Tls; password: string | null } | null) =>
    server !== null && server.tls === 'none' && server.password !== null && !isLoopback(server.host)
      ? [
          `ASYNCGATE_${name}_TLS is none, so the password would be sent to ${server.host} in clear text. Remove it.`,
        ]
      : []
  return email === null ? [] : [...bare('SMTP', email.smtp), ...bare('IMAP', email.imap)]
}
