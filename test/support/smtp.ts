import { once } from 'node:events'
import PostalMime, { type Email as ParsedMail } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { SmtpSettings } from '../../src/email/settings.ts'

export interface TakenMail {
  readonly from: string
  readonly to: readonly string[]
  readonly source: string
  readonly mail: ParsedMail
}

export interface SmtpOptions {
  /** Refuses a recipient by throwing `smtpError`. */
  readonly onRecipient?: (address: string) => void
  /** Called when an email has arrived, before it is acknowledged. */
  readonly onMail?: (mail: TakenMail) => Promise<void> | void
  readonly credentials?: { readonly user: string; readonly password: string }
  readonly port?: number
  readonly options?: SMTPServerOptions
}

export interface SmtpTestServer {
  readonly settings: SmtpSettings
  readonly port: number
  readonly taken: readonly TakenMail[]
  /** Resolves when that many emails have arrived. */
  count(atLeast: number): Promise<readonly TakenMail[]>
  stop(): Promise<void>
}

export function smtpError(code: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode: code })
}

/** A real SMTP server on a free local port, without TLS by default. */
export async function startSmtp(setup: SmtpOptions = {}): Promise<SmtpTestServer> {
  const taken: TakenMail[] = []
  const wake: (() => void)[] = []
  const { onRecipient, onMail, credentials } = setup
  const server = new SMTPServer({
    authOptional: credentials === undefined,
    disabledCommands: credentials === undefined ? ['AUTH', 'STARTTLS'] : ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    closeTimeout: 100,
    onAuth({ username, password }, _session, done) {
      if (username === credentials?.user && password === credentials?.password) done(null, { user: username })
      else done(smtpError(535, 'Invalid username or password'))
    },
    onRcptTo({ address }, _session, done) {
      attempt(() => onRecipient?.(address), done)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const source = Buffer.concat(chunks).toString('utf8')
        const { mailFrom, rcptTo } = session.envelope
        const mail: TakenMail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source,
          mail: await PostalMime.parse(source),
        }
        attempt(async () => {
          if (stream.sizeExceeded) throw smtpError(552, 'Message is too large')
          await onMail?.(mail)
          taken.push(mail)
          for (const tell of wake.splice(0)) tell()
        }, done)
      })
    },
    ...setup.options,
  })
  server.on('error', () => {})
  server.listen(setup.port ?? 0, '127.0.0.1')
  await once(server.server, 'listening')
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    settings: {
      host: '127.0.0.1',
      port,
      user: credentials?.user ?? null,
      password: credentials?.password ?? null,
      tls: 'none',
    },
    port,
    taken,
    async count(atLeast) {
      while (taken.length < atLeast) await new Promise<void>((resolve) => wake.push(resolve))
      return taken
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

function attempt(run: () => Promise<void> | void, done: (error?: Error | null) => void): void {
  Promise.resolve()
    .then(run)
    .then(
      () => done(),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    )
}
