import { isAddress } from '../core/address.ts'
import type { Attachment } from '../features/email/email.ts'

/** Whether the receiving email server has verified the sender. */
export type SenderProof = 'pass' | 'fail' | 'unknown'

/** An inbound email from any source, sanitized. */
export interface IncomingEmail {
  /** Without angle brackets. */
  readonly message_id: string | undefined
  /** The Message-IDs of the emails that it answers, the nearest first. */
  readonly answers: readonly string[]
  readonly from: string | undefined
  readonly recipients: readonly string[]
  readonly subject: string
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly proof: SenderProof
}

/** An inbound email before it is sanitized. */
export interface RawEmail extends Pick<IncomingEmail, 'message_id' | 'answers' | 'from' | 'proof'> {
  readonly recipients: readonly (string | undefined)[]
  readonly subject: string | undefined
  readonly text: string | undefined
  readonly html: string | undefined
  readonly attachments: readonly { filename: string; media_type: string; content: Buffer }[]
}

const MAX_SUBJECT = 500

/** Sanitizes an email: plain text without control characters, which both databases can store. */
export function safeEmail(raw: RawEmail): IncomingEmail {
  const { message_id, answers, from, proof } = raw
  return {
    message_id,
    answers,
    from: from !== undefined && isAddress(from) ? from : undefined,
    recipients: raw.recipients.filter((address) => address !== undefined).filter(isAddress),
    subject: oneLine(raw.subject ?? '').slice(0, MAX_SUBJECT),
    text: plainText(raw.text !== undefined && raw.text.trim() !== '' ? raw.text : textOfHtml(raw.html ?? '')),
    attachments: raw.attachments.map(({ filename, media_type, content }) => ({
      filename: safeName(filename),
      media_type: /^[\w.+-]+\/[\w.+-]+$/.test(media_type)
        ? media_type.toLowerCase()
        : 'application/octet-stream',
      content: content.toString('base64'),
    })),
    proof,
  }
}

/** Normalizes line breaks and removes other control characters and lone surrogates. */
export function plainText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .toWellFormed()
    .trimEnd()
}

function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** A file name without folders and leading dots. */
function safeName(name: string): string {
  const base = oneLine(name)
    .replace(/^.*[/\\]/, '')
    .replace(/^\.+/, '')
    .slice(0, 200)
  return base === '' ? 'attachment' : base
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** The text of an HTML document, without any markup. */
export function textOfHtml(html: string): string {
  return html
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .replace(/<(script|style|head|title|template|svg)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, '')
    .replace(/[ \t\r\n]+/g, ' ')
    .replace(/<br\b[^<>]*>/gi, '\n')
    .replace(/<\/?(?:p|div|tr|li|h[1-6]|blockquote|table|ul|ol)\b[^<>]*>/gi, '\n')
    .replace(/<[a-z!/?][^>]*(?:>|$)/gi, '')
    .replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|\w{1,10});/gi, (entity, name: string) => character(name) ?? entity)
    .replace(/ *\n */g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function character(name: string): string | undefined {
  const code =
    name.startsWith('#x') || name.startsWith('#X')
      ? Number.parseInt(name.slice(2), 16)
      : name.startsWith('#')
        ? Number(name.slice(1))
        : undefined
  if (code === undefined) return ENTITIES[name.toLowerCase()]
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}
