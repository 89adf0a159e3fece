import { domainOf } from '../core/address.ts'
import type { IncomingEmail, SenderProof } from './incoming.ts'

/** The maximum length of a header line (RFC 5322). */
const MAX_LENGTH = 998

const BRACKETED = /<([^<>\s]+)>/g

/** The Message-IDs in a header, without angle brackets. */
export function messageIdsIn(header: string | undefined): string[] {
  if (header === undefined) return []
  const found = [...header.matchAll(BRACKETED)].map(([, id = '']) => id)
  const bare = header.trim()
  if (found.length === 0 && bare !== '' && !/[\s<>]/.test(bare)) found.push(bare)
  return found.filter((id) => id.length <= MAX_LENGTH)
}

/** A delivery status notification about an outbound email (RFC 3464). */
export interface DeliveryReport {
  readonly message_id: string
  readonly action: 'delivered' | 'failed'
  readonly reason: string
}

/** Undefined if the email is not a notification, or a notification of a delay. */
export function deliveryReport({ attachments }: IncomingEmail): DeliveryReport | undefined {
  const text = (...types: string[]) => {
    const found = attachments.find(({ media_type }) => types.includes(media_type))
    return found && unfold(Buffer.from(found.content, 'base64').toString('utf8'))
  }
  const status = text('message/delivery-status')
  const original = text('message/rfc822', 'text/rfc822-headers', 'message/rfc822-headers')
  if (status === undefined || original === undefined) return undefined
  const action = field(status, 'Action')?.toLowerCase()
  const [message_id] = messageIdsIn(field(original, 'Message-ID'))
  if (message_id === undefined || (action !== 'delivered' && action !== 'failed')) return undefined
  const reason = field(status, 'Diagnostic-Code') ?? field(status, 'Status') ?? action
  return { message_id, action, reason: reason.slice(0, 500) }
}

/** The value of a header in unfolded header text. */
export function field(headers: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(headers)?.[1]?.trim()
}

/** Joins headers that are continued on the next line. */
export function unfold(headers: string): string {
  return headers.replace(/\r?\n[ \t]+/g, ' ')
}

/** The results of the sender checks of the receiving email server. */
interface Findings {
  /** Domains with a valid DKIM signature. */
  readonly signed: readonly string[]
  /** The domain of the envelope sender, if SPF passed. */
  readonly spf: string | undefined
  /** Whether DMARC passed. */
  readonly dmarc: boolean
}

/** Only a signature or SPF result that is aligned with the domain of the From header counts. */
export function proofOf(from: string | undefined, findings: Findings | undefined): SenderProof {
  if (findings === undefined) return 'unknown'
  if (from === undefined) return 'fail'
  const shown = domainOf(from)
  const domains = [...findings.signed, ...(findings.spf === undefined ? [] : [findings.spf])]
  return findings.dmarc || domains.some((domain) => isAligned(domain.toLowerCase(), shown)) ? 'pass' : 'fail'
}

/** Relaxed alignment of DMARC: equal domains, or one is a subdomain of the other. */
function isAligned(domain: string, shown: string): boolean {
  if (!domain.includes('.')) return domain === shown
  return domain === shown || shown.endsWith(`.${domain}`) || domain.endsWith(`.${shown}`)
}

/** Reads the Authentication-Results header of a trusted server (RFC 8601). */
export function authenticationResults(header: string, authserv: string): Findings | undefined {
  const [id = '', ...results] = withoutComments(header).split(';')
  if (id.trim().split(/\s/)[0]?.toLowerCase() !== authserv.toLowerCase()) return undefined
  const passed = (method: string) =>
    results
      .map((result) => result.trim())
      .filter((result) => new RegExp(`^${method}\\s*=\\s*pass\\b`, 'i').test(result))
  const signed = passed('dkim').flatMap((result) => {
    const [, domain] =
      /\bheader\.d\s*=\s*"?([\w.-]+)/i.exec(result) ??
      /\bheader\.i\s*=\s*"?[^\s@"]*@([\w.-]+)/i.exec(result) ??
      []
    return domain === undefined ? [] : [domain]
  })
  const [, sender] = /\bsmtp\.mailfrom\s*=\s*"?(?:[^\s@"]*@)?([\w.-]+)/i.exec(passed('spf')[0] ?? '') ?? []
  return { signed, spf: sender, dmarc: passed('dmarc').length > 0 }
}

/** Reads the Received-SPF header (RFC 7208). */
export function receivedSpf(header: string): Findings {
  const pass = /^\s*pass\b/i.test(header)
  const [, sender] = /\benvelope-from\s*=\s*"?<?(?:[^\s@"<>]*@)?([\w.-]+)/i.exec(header) ?? []
  return { signed: [], spf: pass ? sender : undefined, dmarc: false }
}

function withoutComments(header: string): string {
  return header.replace(/\([^()]*\)/g, ' ')
}
