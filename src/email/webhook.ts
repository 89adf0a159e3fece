import { createPublicKey, hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../core/errors.ts'
import { parseJson } from '../core/json/text.ts'
import type { Delivery, DeliveryAnswer } from '../features/email/email.ts'
import { StoreError } from '../store/store.ts'
import { isRecent, isSigned, mayBeSigned, secretKey } from '../util/webhook-signature.ts'
import type { Inbox } from './inbox.ts'
import type { IncomingEmail } from './incoming.ts'
import { parseMime } from './mime.ts'
import { parsePostmark } from './postmark.ts'
import { parseSendGrid } from './sendgrid.ts'
import type { EmailSettings } from './settings.ts'

const SIGNATURE = 'webhook-signature'
const SENDGRID = 'x-twilio-email-event-webhook-signature'
const SENDGRID_TIME = 'x-twilio-email-event-webhook-timestamp'

interface WebhookOptions {
  readonly inbox: Inbox
  readonly settings: EmailSettings
  readonly now: () => number
  /** Called for each refused email. */
  readonly onRefused: (reason: string, email: IncomingEmail) => void
  /** Called for failures of which callers see only the code. */
  readonly report: (error: unknown) => void
}

/** Receives the emails of one account from providers over HTTP. */
export class Webhook {
  readonly #options: WebhookOptions
  readonly #sendGridKey: KeyObject | undefined

  constructor(options: WebhookOptions) {
    this.#options = options
    const { mail_sendgrid_public_key: key } = options.settings
    // SendGrid shows the key as base64 of its SPKI form.
    this.#sendGridKey =
      key === null
        ? undefined
        : createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
  }

  /** An email in base64, plus its headers and a second form of its text. */
  get maxBodyBytes(): number {
    return this.#options.settings.mail_max_bytes * 2 + 1024 * 1024
  }

  /** Whether a delivery has credentials of the right form. A signature can only be verified with the body. */
  mayBeAuthentic({ headers, query }: Omit<Delivery, 'body'>): boolean {
    return this.#isAuthentic(headers, query, undefined)
  }

  isAuthentic({ headers, query, body }: Delivery): boolean {
    return this.#isAuthentic(headers, query, body)
  }

  /** Receives an email from an authentic delivery. */
  async receive(delivery: Delivery): Promise<DeliveryAnswer> {
    const email = await this.#parse(delivery)
    const answer = await this.#options.inbox.receive(email).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error
      this.#options.report(error)
      throw new Fault('DATABASE_UNAVAILABLE')
    })
    if (answer.status === 'refused') this.#options.onRefused(answer.reason ?? '', email)
    return answer
  }

  /** Without the body, this checks only the form and age of a signature. A signature must be valid if there is one. */
  #isAuthentic(headers: IncomingHttpHeaders, query: URLSearchParams, body: Buffer | undefined): boolean {
    const { mail_webhook_secret: secret } = this.#options.settings
    const now = this.#options.now()
    if (textOf(headers, SIGNATURE) !== undefined) {
      if (secret === null) return false
      return body === undefined ? mayBeSigned(headers, now) : isSigned(headers, body, secretKey(secret), now)
    }
    const signature = textOf(headers, SENDGRID)
    if (signature !== undefined) {
      // SendGrid signs its timestamp and the body with ECDSA and SHA-256.
      const time = textOf(headers, SENDGRID_TIME) ?? ''
      const key = this.#sendGridKey
      if (key === undefined || !isRecent(time, now)) return false
      const signed = body && Buffer.concat([Buffer.from(time), body])
      return signed === undefined || verify('sha256', signed, key, Buffer.from(signature, 'base64'))
    }
    // Postmark does not sign: its webhook URL contains the secret as password or token.
    const given = passwordOf(headers.authorization) ?? query.get('token') ?? undefined
    return secret !== null && given !== undefined && isSecret(given, secret)
  }

  #parse({ headers, body }: Delivery): Promise<IncomingEmail> | IncomingEmail {
    const type = headers['content-type'] ?? ''
    const { mail_authserv_id } = this.#options.settings
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
          'Send an email as application/json, multipart/form-data or message/rfc822.',
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

/** Compares in constant time. */
function isSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'))
}
