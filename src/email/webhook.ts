import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../core/errors.ts'
import { parseJson } from '../core/json/text.ts'
import type { Delivery, DeliveryAnswer, InboundMail } from '../features/email/email.ts'
import { StoreError } from '../store/store.ts'
import { isRecent, isSigned, mayBeSigned, secretKey } from '../util/webhook-signature.ts'
import type { Inbox } from './inbox.ts'
import type { IncomingMail } from './incoming.ts'
import { parseMime } from './mime.ts'
import { parsePostmark } from './postmark.ts'
import { parseSendGrid } from './sendgrid.ts'
import type { MailSettings } from './settings.ts'
import { isSecret, isSignedBySendGrid, sendGridKey } from './signature.ts'

const SIGNATURE = 'webhook-signature'
const SENDGRID = 'x-twilio-email-event-webhook-signature'
const SENDGRID_TIME = 'x-twilio-email-event-webhook-timestamp'

export interface WebhookOptions {
  readonly inbox: Inbox
  readonly settings: MailSettings
  readonly now: () => number
  /** Told of mail that was turned away. */
  readonly onRefused: (reason: string, mail: IncomingMail) => void
  /** Told of every failure that callers only see as a code. */
  readonly report: (error: unknown) => void
}

/** Takes mail from providers that bring it by HTTP, if they prove who they are. */
export class Webhook implements InboundMail {
  readonly #inbox: Inbox
  readonly #settings: MailSettings
  readonly #now: () => number
  readonly #onRefused: WebhookOptions['onRefused']
  readonly #report: WebhookOptions['report']
  readonly #sendGridKey: KeyObject | undefined

  constructor({ inbox, settings, now, onRefused, report }: WebhookOptions) {
    this.#report = report
    this.#inbox = inbox
    this.#settings = settings
    this.#now = now
    this.#onRefused = onRefused
    const { mail_sendgrid_public_key: key } = settings
    this.#sendGridKey = key === null ? undefined : sendGridKey(key)
  }

  /** A mail in base64, with room for its headers and for the text in two forms. */
  get maxBodyBytes(): number {
    return this.#settings.mail_max_bytes * 2 + 1024 * 1024
  }

  admit({ headers, query }: Omit<Delivery, 'body'>): void {
    if (!this.#mayBeProven(headers, query)) throw new Fault('UNAUTHENTICATED')
  }

  async deliver(delivery: Delivery): Promise<DeliveryAnswer> {
    if (!this.#isProven(delivery)) {
      throw new Fault('UNAUTHENTICATED', {}, 'The signature is not valid, or older than five minutes.')
    }
    const mail = await this.#parse(delivery)
    const answer = await this.#inbox.receive(mail).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error
      this.#report(error)
      throw new Fault('DATABASE_UNAVAILABLE')
    })
    if (answer.status === 'refused') this.#onRefused(answer.reason ?? '', mail)
    return answer
  }

  /** What can be told without the body: a signature has its form, is recent, and somebody knows how to check it. */
  #mayBeProven(headers: IncomingHttpHeaders, query: URLSearchParams): boolean {
    if (textOf(headers, SIGNATURE) !== undefined) {
      return this.#settings.mail_webhook_secret !== null && mayBeSigned(headers, this.#now())
    }
    const signature = textOf(headers, SENDGRID)
    if (signature === undefined) return this.#knowsSecret(headers, query)
    return this.#sendGridKey !== undefined && isRecent(textOf(headers, SENDGRID_TIME) ?? '', this.#now())
  }

  /** A signature that is given must be good, whatever else is. */
  #isProven({ headers, query, body }: Delivery): boolean {
    const { mail_webhook_secret: secret } = this.#settings
    if (textOf(headers, SIGNATURE) !== undefined) {
      return secret !== null && isSigned(headers, body, secretKey(secret), this.#now())
    }
    const signature = textOf(headers, SENDGRID)
    if (signature !== undefined) {
      const time = textOf(headers, SENDGRID_TIME) ?? ''
      const key = this.#sendGridKey
      return key !== undefined && isSignedBySendGrid(signature, time, body, key, this.#now())
    }
    return this.#knowsSecret(headers, query)
  }

  /** Postmark signs nothing: the secret is the password, or the token, in the URL that it is given. */
  #knowsSecret(headers: IncomingHttpHeaders, query: URLSearchParams): boolean {
    const { mail_webhook_secret: secret } = this.#settings
    const given = passwordOf(headers.authorization) ?? query.get('token') ?? undefined
    return secret !== null && given !== undefined && isSecret(given, secret)
  }

  #parse({ headers, body }: Delivery): Promise<IncomingMail> | IncomingMail {
    const type = headers['content-type'] ?? ''
    const { mail_authserv_id } = this.#settings
    switch (type.split(';')[0]?.trim().toLowerCase()) {
      case 'application/json':
        return parsePostmark(parseJson(body.toString('utf8')))
      case 'multipart/form-data':
        return parseSendGrid(type, body, mail_authserv_id)
      case 'message/rfc822':
        return parseMime(body, mail_authserv_id)
      default:
        throw new Fault(
          'UNSUPPORTED_MEDIA_TYPE',
          { content_type: type.slice(0, 128) },
          'A mail comes as application/json, multipart/form-data or message/rfc822.',
        )
    }
  }
}

function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

function passwordOf(authorization: string | undefined): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return colon < 0 ? undefined : pair.slice(colon + 1)
}
