import type { SMTPPoolOptions } from 'nodemailer'
import { GATE } from '../core/principal.ts'
import type { Email, EmailContent } from '../features/email/email.ts'
import { loadOptional } from '../util/load-optional.ts'
import type { DkimSigner } from './dkim.ts'
import type { SmtpSettings } from './settings.ts'

/** The way out. */
export interface Transport {
  /** Resolves when the server has taken the mail; rejects with SendError. */
  send(email: Email, content: EmailContent): Promise<void>
  /** Cuts off what is under way. */
  close(): void
}

/** Why a mail was not taken. */
export class SendError extends Error {
  /** The same mail will never be taken. */
  readonly permanent: boolean

  constructor(message: string, permanent: boolean, cause: unknown) {
    super(message, { cause })
    this.name = 'SendError'
    this.permanent = permanent
  }
}

const CONNECT_MS = 15_000
const SILENCE_MS = 60_000

/** One connection for each mail: what became of it is then known for each. */
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
          // An answer to what the gate itself sends is for the agent that it is about.
          ...(email.by === GATE && { replyTo: [...email.to] }),
          text: content.text,
          attachments: content.attachments.map(({ filename, media_type, content: bytes }) => ({
            filename,
            contentType: media_type,
            content: Buffer.from(bytes, 'base64'),
          })),
          // So that nobody's holiday reply comes back.
          headers: {
            'Auto-Submitted': 'auto-generated',
            ...(email.task_id !== null && { 'X-AsyncGate-Task': email.task_id }),
          },
          // What bounces goes to the gate's own address, whoever the mail is from.
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
    socketTimeout: SILENCE_MS,
    // A mail carries what it was given, and nothing that its text might name.
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** Errors about the mail itself. Any other is about the way, which is for the operator to mend while the mail waits. */
const ABOUT_THE_MAIL: readonly unknown[] = ['EENVELOPE', 'EMESSAGE']

function sendError(error: unknown): SendError {
  if (!(error instanceof Error)) return new SendError(String(error), false, error)
  const code = 'code' in error ? error.code : undefined
  // Without an answer it was our side that saw that the server would not take it.
  const final = 'responseCode' in error ? 'permanent' in error && error.permanent === true : true
  return new SendError(oneLine(error.message), ABOUT_THE_MAIL.includes(code) && final, error)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 500)
}
