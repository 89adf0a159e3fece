import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { messageIdsIn, proofOf, receivedSpf } from './headers.ts'
import { type IncomingEmail, safeEmail } from './incoming.ts'

const address = z.looseObject({ Email: z.string() })
const addresses = z.array(address).optional()

/** The used fields of Postmark's inbound webhook. */
const postmarkShape = z.looseObject({
  From: z.string().optional(),
  FromFull: address.optional(),
  ToFull: addresses,
  CcFull: addresses,
  BccFull: addresses,
  OriginalRecipient: z.string().optional(),
  Subject: z.string().optional(),
  /** Assigned by Postmark; the Message-ID of the email is in its headers. */
  MessageID: z.string().optional(),
  TextBody: z.string().optional(),
  HtmlBody: z.string().optional(),
  Headers: z.array(z.looseObject({ Name: z.string(), Value: z.string() })).optional(),
  Attachments: z
    .array(z.looseObject({ Name: z.string(), Content: z.string(), ContentType: z.string().optional() }))
    .optional(),
})

export function parsePostmark(body: unknown): IncomingEmail {
  const parsed = postmarkShape.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw invalid(issue?.path.join('.') ?? '', issue?.message ?? 'is not valid')
  }
  const posted = parsed.data
  const header = (name: string) => posted.Headers?.find(({ Name }) => Name.toLowerCase() === name)?.Value
  const from = posted.FromFull?.Email ?? posted.From
  const spf = header('received-spf')
  const all = [...(posted.ToFull ?? []), ...(posted.CcFull ?? []), ...(posted.BccFull ?? [])]
  return safeEmail({
    message_id: messageIdsIn(header('message-id'))[0] ?? posted.MessageID,
    answers: [...messageIdsIn(header('in-reply-to')), ...messageIdsIn(header('references')).toReversed()],
    from,
    recipients: [posted.OriginalRecipient, ...all.map(({ Email }) => Email)],
    subject: posted.Subject,
    text: posted.TextBody,
    html: posted.HtmlBody,
    attachments: (posted.Attachments ?? []).map(({ Name, Content, ContentType }) => ({
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
