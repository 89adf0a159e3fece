import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { SMTPPoolOptions } from 'nodemailer'
import { GATE } from '../core/principal.ts'
import type { Email, EmailContent } from '../features/email/email.ts'
import { loadOptional } from '../util/load-optional.ts'
import type { DkimSettings, SmtpSettings } from './settings.ts'

export interface Transport {
  /** Resolves when the server has accepted the email; rejects with SendError. */
  send(email: Email, content: EmailContent): Promise<void>
  /** Aborts pending sends. */
  close(): void
}

/** The SMTP server did not accept an email. */
export class SendError extends Error {
  /** Whether a retry cannot succeed. */
  readonly permanent: boolean

  constructor(message: string, permanent: boolean, cause: unknown) {
    super(message, { cause })
    this.name = 'SendError'
    this.permanent = permanent
  }
}

const CONNECT_MS = 15_000
const IDLE_MS = 60_000

/** Uses one connection per email, so that the outcome of each is known. */
export async function openSmtp(
  settings: SmtpSettings,
  envelopeFrom: string,
  dkim?: DkimSigner,
): Promise<Transport> {
  const { createTransport } = await loadOptional('nodemailer', 'Sending email', () => import('nodemailer'))
  const transporter = createTransport({ ...optionsOf(settings), pool: true, ...(dkim && { dkim }) })
  return {
    async send(email, content) {
      try {
        await transporter.sendMail({
          messageId: `<${email.message_id}>`,
          date: new Date(email.created_at),
          from: email.from,
          to: [...email.to],
          subject: email.subject,
          // A reply to an email of the server goes to the agent that the email is about.
          ...(email.by === GATE && { replyTo: [...email.to] }),
          text: content.text,
          attachments: content.attachments.map(({ filename, media_type, content: bytes }) => ({
            filename,
            contentType: media_type,
            content: Buffer.from(bytes, 'base64'),
          })),
          // Prevents automatic replies.
          headers: {
            'Auto-Submitted': 'auto-generated',
            ...(email.task_id !== null && { 'X-AsyncGate-Task': email.task_id }),
          },
          // Bounces go to the address of the server.
          envelope: { from: envelopeFrom, to: [...email.to] },
        })
      } catch (error) {
        throw sendError(error)
      }
    },
    close: () => transporter.close({ force: true }),
  }
}

function optionsOf({ host, port, user, password, tls }: SmtpSettings): SMTPPoolOptions {
  return {
    maxMessages: 1,
    maxRequeues: 0,
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(user !== null && { auth: { user, pass: password ?? '' } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: IDLE_MS,
    // Content cannot refer to files or URLs.
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** Errors about the email itself. Other errors are about the connection, and the email is retried. */
const EMAIL_ERRORS: readonly unknown[] = ['EENVELOPE', 'EMESSAGE']

function sendError(error: unknown): SendError {
  if (!(error instanceof Error)) return new SendError(String(error), false, error)
  const code = 'code' in error ? error.code : undefined
  // Without a response, nodemailer itself found the email invalid.
  const final = 'responseCode' in error ? 'permanent' in error && error.permanent === true : true
  return new SendError(oneLine(error.message), EMAIL_ERRORS.includes(code) && final, error)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 500)
}

/** The DKIM options of nodemailer. */
interface DkimSigner {
  readonly domainName: string
  readonly keySelector: string
  /** PEM. */
  readonly privateKey: string
}

/** Receivers do not accept shorter keys. */
const MIN_BITS = 1024

/** Reads and checks the key, so that a wrong file is noticed when the server starts. */
export async function openDkim({ domain, selector, key_file }: DkimSettings): Promise<DkimSigner> {
  const pem = await readFile(key_file, 'utf8').catch((error: unknown) => {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new Error(`The DKIM key ${key_file} cannot be read (${reason}).`, { cause: error })
  })
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (error) {
    throw new Error(`${key_file} is not a private key in PEM without a password.`, { cause: error })
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType !== 'rsa' || bits < MIN_BITS) {
    throw new Error(`${key_file} is not an RSA key of at least ${MIN_BITS} bits.`)
  }
  return { domainName: domain, keySelector: selector, privateKey: pem }
}
