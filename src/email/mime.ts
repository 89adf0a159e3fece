import type { Address, Email as ParsedMail } from 'postal-mime'
import { invalid } from '../core/errors.ts'
import { messageOf } from '../util/error-message.ts'
import { loadOptional } from '../util/load-optional.ts'
import { type IncomingMail, type RawMail, type SenderProof, safeMail } from './incoming.ts'
import { messageIdsIn } from './message-id.ts'
import { authenticationResults, proofOf } from './proof.ts'

/** What the bringer of a mail knows besides the mail. */
export interface Envelope {
  readonly recipients: readonly string[]
  /** Undefined: what the mail's own headers prove is all there is. */
  readonly proof?: SenderProof
}

const loadPostalMime = () => loadOptional('postal-mime', 'Receiving email', () => import('postal-mime'))

const LIMITS = { maxNestingDepth: 32, maxHeadersSize: 256 * 1024, forceRfc822Attachments: true } as const

/** A mail as it travels (RFC 5322). */
export async function parseMime(
  bytes: Uint8Array,
  authserv: string | null,
  envelope: Envelope = { recipients: [] },
): Promise<IncomingMail> {
  const { default: PostalMime } = await loadPostalMime()
  let mail: ParsedMail
  try {
    mail = await PostalMime.parse(bytes, { ...LIMITS, attachmentEncoding: 'arraybuffer' })
  } catch (error) {
    throw invalid('', `is not a mail that can be read: ${messageOf(error)}`)
  }
  return safeMail(rawOf(mail, authserv, envelope))
}

/** The addresses in a header such as To. */
export async function addressesIn(header: string): Promise<string[]> {
  const { addressParser } = await loadPostalMime()
  return addressParser(header, { flatten: true }).flatMap(mailboxes)
}

function rawOf(mail: ParsedMail, authserv: string | null, envelope: Envelope): RawMail {
  const [from] = mail.from === undefined ? [] : mailboxes(mail.from)
  const headers = [...(mail.to ?? []), ...(mail.cc ?? []), ...(mail.bcc ?? [])].flatMap(mailboxes)
  const delivered = mail.headers
    .filter(({ key }) => key === 'delivered-to' || key === 'x-original-to')
    .map(({ value }) => value.trim().replace(/^<|>$/g, ''))
  return {
    message_id: messageIdsIn(mail.messageId)[0],
    answers: [...messageIdsIn(mail.inReplyTo), ...messageIdsIn(mail.references).toReversed()],
    from,
    recipients: [...envelope.recipients, ...headers, ...delivered],
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    attachments: mail.attachments.map(({ filename, mimeType, content }) => ({
      filename: filename ?? '',
      media_type: mimeType,
      content: typeof content === 'string' ? Buffer.from(content) : Buffer.from(new Uint8Array(content)),
    })),
    proof: envelope.proof ?? ownProof(mail, from, authserv),
  }
}

/** The topmost header of the trusted server: whatever stands below it may have come with the mail. */
function ownProof(mail: ParsedMail, from: string | undefined, authserv: string | null): SenderProof {
  if (authserv === null) return 'unknown'
  const found = mail.headers
    .filter(({ key }) => key === 'authentication-results')
    .map(({ value }) => authenticationResults(value, authserv))
    .find((findings) => findings !== undefined)
  return proofOf(from, found)
}

function mailboxes(address: Address): string[] {
  if (address.group !== undefined) return address.group.flatMap(mailboxes)
  return address.address === '' ? [] : [address.address]
}
