import type { Address, Email as ParsedEmail } from 'postal-mime'
import { invalid } from '../core/errors.ts'
import { messageOf } from '../util/error-message.ts'
import { loadOptional } from '../util/load-optional.ts'
import { authenticationResults, messageIdsIn, proofOf } from './headers.ts'
import { type IncomingEmail, type RawEmail, type SenderProof, safeEmail } from './incoming.ts'

/** Information of the provider in addition to the email. */
interface Envelope {
  readonly recipients: readonly string[]
  /** By default the result in the headers of the email. */
  readonly proof?: SenderProof
}

const loadPostalMime = () => loadOptional('postal-mime', 'Receiving email', () => import('postal-mime'))

const LIMITS = { maxNestingDepth: 32, maxHeadersSize: 256 * 1024, forceRfc822Attachments: true } as const

/** Parses an email in MIME format (RFC 5322). */
export async function parseMime(
  bytes: Uint8Array,
  authserv: string | null,
  envelope: Envelope = { recipients: [] },
): Promise<IncomingEmail> {
  const { default: PostalMime } = await loadPostalMime()
  let parsed: ParsedEmail
  try {
    parsed = await PostalMime.parse(bytes, { ...LIMITS, attachmentEncoding: 'arraybuffer' })
  } catch (error) {
    throw invalid('', `is not a valid email: ${messageOf(error)}`)
  }
  return safeEmail(rawOf(parsed, authserv, envelope))
}

/** The addresses in a header such as To. */
export async function addressesIn(header: string): Promise<string[]> {
  const { addressParser } = await loadPostalMime()
  return addressParser(header, { flatten: true }).flatMap(mailboxes)
}

function rawOf(parsed: ParsedEmail, authserv: string | null, envelope: Envelope): RawEmail {
  const [from] = parsed.from === undefined ? [] : mailboxes(parsed.from)
  const headers = [...(parsed.to ?? []), ...(parsed.cc ?? []), ...(parsed.bcc ?? [])].flatMap(mailboxes)
  const delivered = parsed.headers
    .filter(({ key }) => key === 'delivered-to' || key === 'x-original-to')
    .map(({ value }) => value.trim().replace(/^<|>$/g, ''))
  return {
    message_id: messageIdsIn(parsed.messageId)[0],
    answers: [...messageIdsIn(parsed.inReplyTo), ...messageIdsIn(parsed.references).toReversed()],
    from,
    recipients: [...envelope.recipients, ...headers, ...delivered],
    subject: parsed.subject,
    text: parsed.text,
    html: parsed.html,
    attachments: parsed.attachments.map(({ filename, mimeType, content }) => ({
      filename: filename ?? '',
      media_type: mimeType,
      content: typeof content === 'string' ? Buffer.from(content) : Buffer.from(new Uint8Array(content)),
    })),
    proof: envelope.proof ?? ownProof(parsed, from, authserv),
  }
}

/** Only the first header of the trusted server counts, because the sender can forge the ones below it. */
function ownProof(parsed: ParsedEmail, from: string | undefined, authserv: string | null): SenderProof {
  if (authserv === null) return 'unknown'
  const found = parsed.headers
    .filter(({ key }) => key === 'authentication-results')
    .map(({ value }) => authenticationResults(value, authserv))
    .find((findings) => findings !== undefined)
  return proofOf(from, found)
}

function mailboxes(address: Address): string[] {
  if (address.group !== undefined) return address.group.flatMap(mailboxes)
  return address.address === '' ? [] : [address.address]
}
