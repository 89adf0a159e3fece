import { z } from 'zod'
import { domainOf, nameInAddress } from '../core/address.ts'
import { oneOf, text, whole } from './kinds.ts'
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
} from './mail-kinds.ts'
import { isLoopback } from './refusals.ts'
import { setting } from './setting.ts'

const MIB = 1024 * 1024
const NONE: readonly string[] = []
const SECRET = { secret: true } as const
const tls = oneOf('implicit', 'starttls', 'none')

type Tls = 'implicit' | 'starttls' | 'none'

/** Mail, out and in. Without MAIL_FROM there is none. */
export const mailTable = z.object({
  mail_from: setting<string | null>(address, null, 'The address that mail comes from. Unset: no mail.'),
  mail_domain: setting<string | null>(
    domain,
    null,
    'Domain of the addresses of agents. If unset: that of MAIL_FROM.',
  ),
  mail_addressing: setting(
    oneOf('plus', 'name'),
    'plus',
    'Address of the agent kee, if MAIL_FROM is gate@example.com: gate+kee@example.com (plus) or kee@example.com (name).',
  ),
  mail_agents: setting(
    names,
    NONE,
    'Agents that have an address. If unset: every agent whose name is of letters, digits, dots, hyphens and underscores.',
  ),
  mail_recipients: setting(
    correspondents,
    NONE,
    'Who may be written to, besides the agents of this server. * is everybody.',
  ),
  mail_senders: setting(
    correspondents,
    NONE,
    'Whose mail is taken in, besides that of the agents of this server. * is everybody.',
  ),
  mail_sender_proof: setting(
    oneOf('required', 'if_known', 'off'),
    'if_known',
    'Whether DKIM or SPF must speak for the sender: always, unless nothing is known of either, or never.',
  ),
  mail_authserv_id: setting<string | null>(
    text,
    null,
    'The name of your mail server in Authentication-Results headers, which are believed only then.',
  ),
  mail_max_bytes: setting(
    whole(1024, 100 * MIB),
    10 * MIB,
    'Largest mail, out or in: text and attachments together.',
  ),
  mail_max_attempts: setting(whole(1, 100), 12, 'Tries to send a mail before it has failed.'),
  mail_retry_backoff_seconds: setting(
    whole(1, 3600),
    30,
    'Pause before the second try; it doubles each time, up to an hour.',
  ),
  mail_max_per_hour: setting(
    whole(0),
    100,
    'Mails that one sender may send with send_email in an hour, and results of one owner that go out by mail in an hour; 0 is no limit.',
  ),
  mail_retention_days: setting(whole(0, 3650), 30, 'How long mails are kept; 0 is for ever.'),
  mail_webhook_secret: setting<string | null>(
    text,
    null,
    'Secret of POST /webhooks/inbound_email: it signs, or is the password or token in the URL.',
    SECRET,
  ),
  mail_sendgrid_public_key: setting<string | null>(
    sendGridKey,
    null,
    'The key by which mail that SendGrid brings is known to be from SendGrid.',
  ),
  mail_clamd: setting<string | null>(scanner, null, 'ClamAV daemon that scans attachments that come in.'),
  smtp_url: setting<Login | null>(login('smtp'), null, 'The server that takes our mail.', SECRET),
  smtp_host: setting<string | null>(text, null, 'The same in parts: its name.'),
  smtp_port: setting<number | null>(
    whole(1, 65_535),
    null,
    'Its port. If unset: 465 with TLS from the first byte, else 587.',
  ),
  smtp_user: setting<string | null>(text, null, 'Who we are to it.'),
  smtp_password: setting<string | null>(text, null, 'The password of SMTP_USER.', SECRET),
  smtp_tls: setting<Tls | null>(
    tls,
    null,
    'TLS from the first byte, after STARTTLS, or not at all. If unset: implicit for smtps, else starttls.',
  ),
  mail_dkim_selector: setting<string | null>(
    selector,
    null,
    'Selector of the DKIM key: its public half is in the DNS at SELECTOR._domainkey.DOMAIN. Unset: mail is not signed here.',
  ),
  mail_dkim_key_file: setting<string | null>(
    text,
    null,
    'File with the private key, RSA in PEM, that mail is signed with.',
  ),
  mail_dkim_domain: setting<string | null>(
    domain,
    null,
    'Domain that the signature speaks for. If unset: that of the addresses of agents.',
  ),
  imap_url: setting<Login | null>(
    login('imap'),
    null,
    'A mailbox to fetch mail from, where no provider brings it.',
    SECRET,
  ),
  imap_tls: setting<Tls | null>(tls, null, 'As SMTP_TLS. If unset: implicit for imaps, else starttls.'),
  imap_poll_seconds: setting(whole(1, 3600), 60, 'How often it is looked into.'),
  imap_inbox: setting(text, 'INBOX', 'The folder that mail arrives in.'),
  imap_archive: setting(text, 'Archive/Tasks', 'The folder for mail that was taken in.'),
  imap_failed: setting(text, 'Failed', 'The folder for mail that was turned away.'),
})

export type MailValues = z.output<typeof mailTable>

/** The mail of a server, as the settings describe it; null if there is none. */
export function mailOf(values: MailValues) {
  const { mail_from, mail_domain, smtp_url, smtp_host, imap_url } = values
  if (mail_from === null) return null
  const smtp = smtp_url ?? (smtp_host === null ? null : hostLogin(values, smtp_host))
  const imap = imap_url
  const smtpTls = smtp === null ? 'none' : (values.smtp_tls ?? (smtp.secure ? 'implicit' : 'starttls'))
  const imapTls = imap === null ? 'none' : (values.imap_tls ?? (imap.secure ? 'implicit' : 'starttls'))
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

export type MailConfig = NonNullable<ReturnType<typeof mailOf>>

function hostLogin({ smtp_port, smtp_user, smtp_password, smtp_tls }: MailValues, host: string): Login {
  return { secure: smtp_tls === 'implicit', host, port: smtp_port, user: smtp_user, password: smtp_password }
}

/** Values that are fine by themselves and not together. */
export function mailProblems(values: MailValues): string[] {
  const problems: string[] = []
  const ways = (
    [
      ['smtp_url', values.smtp_url],
      ['smtp_host', values.smtp_host],
      ['imap_url', values.imap_url],
      ['mail_webhook_secret', values.mail_webhook_secret],
      ['mail_sendgrid_public_key', values.mail_sendgrid_public_key],
    ] as const
  ).filter(([, value]) => value !== null)
  if (values.mail_from === null && ways.length > 0) {
    const [name = ''] = ways[0] ?? []
    problems.push(`${name.toUpperCase()} needs MAIL_FROM, the address that mail comes from.`)
  }
  if (values.smtp_url !== null && values.smtp_host !== null) {
    problems.push('SMTP_URL and SMTP_HOST are both set: give one of them.')
  }
  if ((values.mail_dkim_selector === null) !== (values.mail_dkim_key_file === null)) {
    problems.push('MAIL_DKIM_SELECTOR and MAIL_DKIM_KEY_FILE belong together: give both.')
  }
  if (values.imap_url !== null && (values.imap_url.user === null || values.imap_url.password === null)) {
    problems.push('IMAP_URL needs a user and a password.')
  }
  return [...problems, ...sharedNames(values.mail_agents)]
}

/** Two agents cannot have one address. */
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

/** Why a server with this mail would not be safe. */
export function mailRefusals(mail: MailConfig | null): string[] {
  const bare = (name: string, server: { host: string; tls: Tls; password: string | null } | null) =>
    server !== null && server.tls === 'none' && server.password !== null && !isLoopback(server.host)
      ? [
          `ASYNCGATE_${name}_TLS is none, so the password would travel to ${server.host} in the clear. Remove it.`,
        ]
      : []
  return mail === null ? [] : [...bare('SMTP', mail.smtp), ...bare('IMAP', mail.imap)]
}
