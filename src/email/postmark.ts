import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { type IncomingMail, safeMail } from './incoming.ts'
import { messageIdsIn } from './message-id.ts'
import { proofOf, receivedSpf } from './proof.ts'

const address = z.looseObject({ Email: z.string() })
const addresses = z.array(address).optional()

/** What Postmark posts, as far as it is used here. */
const postmarkShape = z.looseObject({
  From: z.string().optional(),
  FromFull: address.optional(),
  ToFull: addresses,
  CcFull: addresses,
  BccFull: addresses,
  OriginalRecipient: z.string().optional(),
  Subject: z.string().optional(),
  /** Postmark's own; that of the mail is among the headers. */
  MessageID: z.string().optional(),
  TextBody: z.string().optional(),
  HtmlBody: z.string().optional(),
  Headers: z.array(z.looseObject({ Name: z.string(), Value: z.string() })).optional(),
  Attachments: z
    .array(z.looseObject({ Name: z.string(), Content: z.string(), ContentType: z.string().optional() }))
    .optional(),
})

export function parsePostmark(body: unknown): IncomingMail {
  const parsed = postmarkShape.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw invalid(issue?.path.join('.') ?? '', issue?.message ?? 'does not fit')
  }
  const mail = parsed.data
  const header = (name: string) => mail.Headers?.find(({ Name }) => Name.toLowerCase() === name)?.Value
  const from = mail.FromFull?.Email ?? mail.From
  const spf = header('received-spf')
  const all = [...(mail.ToFull ?? []), ...(mail.CcFull ?? []), ...(mail.BccFull ?? [])]
  return safeMail({
    message_id: messageIdsIn(header('message-id'))[0] ?? mail.MessageID,
    answers: [...messageIdsIn(header('in-reply-to')), ...messageIdsIn(header('references')).toReversed()],
    from,
    recipients: [mail.OriginalRecipient, ...all.map(({ Email }) => Email)],
    subject: mail.Subject,
    text: mail.TextBody,
    html: mail.HtmlBody,
    attachments: (mail.Attachments ?? []).map(({ Name, Content, ContentType }) => ({
      filename: Name,
      media_type: mediaType(ContentType),
      content: Buffer.from(Content, 'base64'),
    })),
    proof: proofOf(from, spf === undefined ? undefined : receivedSpf(spf)),
  })
}

function mediaType(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim() ?? ''
}
