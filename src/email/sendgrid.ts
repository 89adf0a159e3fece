import { Busboy } from '@fastify/busboy'
import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { orAborted } from '../util/abort.ts'
import { messageOf } from '../util/error-message.ts'
import { field, messageIdsIn, proofOf, unfold } from './headers.ts'
import { type IncomingEmail, safeEmail } from './incoming.ts'
import { addressesIn, parseMime } from './mime.ts'

const envelopeShape = z.looseObject({ to: z.array(z.string()).catch([]), from: z.string().optional() })
const charsetsShape = z.record(z.string(), z.string())

/** Reads a request of SendGrid's Inbound Parse, which has the email in fields or, if configured, as raw MIME. */
export async function parseSendGrid(
  contentType: string,
  body: Buffer,
  authserv: string | null,
): Promise<IncomingEmail> {
  const form = new Form(await partsOf(contentType, body))
  const envelope = envelopeShape.safeParse(form.json('envelope')).data ?? { to: [] }
  const [from] = await addressesIn(form.text('from') ?? '')
  const proof = proofOf(from, findings(form, envelope.from))
  const raw = form.part('email')
  if (raw !== undefined) {
    const known = proof === 'unknown' ? {} : { proof }
    return parseMime(raw.content, authserv, { recipients: envelope.to, ...known })
  }
  const headers = unfold(form.text('headers') ?? '')
  return safeEmail({
    message_id: messageIdsIn(field(headers, 'Message-ID'))[0],
    answers: [
      ...messageIdsIn(field(headers, 'In-Reply-To')),
      ...messageIdsIn(field(headers, 'References')).toReversed(),
    ],
    from,
    recipients: [
      ...envelope.to,
      ...(await addressesIn(form.text('to') ?? '')),
      ...(await addressesIn(form.text('cc') ?? '')),
    ],
    subject: form.text('subject'),
    text: form.text('text'),
    html: form.text('html'),
    attachments: form.files(),
    proof,
  })
}

/** DKIM has the form `{@example.com : pass}`, SPF the form `pass`. */
function findings(form: Form, sender: string | undefined) {
  const dkim = form.text('dkim')
  const spf = form.text('SPF')
  if (dkim === undefined && spf === undefined) return undefined
  const signed = [...(dkim ?? '').matchAll(/@([\w.-]+)\s*:\s*pass\b/gi)].map(([, domain = '']) => domain)
  const allowed = /^\s*pass\b/i.test(spf ?? '') ? sender?.slice(sender.lastIndexOf('@') + 1) : undefined
  return { signed, spf: allowed === '' ? undefined : allowed, dmarc: false }
}

interface Part {
  readonly name: string
  readonly filename: string | undefined
  readonly media_type: string
  readonly content: Buffer
}

const MAX_PARTS = 200

/** For some malformed bodies the parser neither finishes nor fails. Parsing a body in memory takes less time. */
const MAX_PARSE_MS = 2_000

/** The parts of a multipart/form-data body, as bytes: a field of the form contains the charsets of the others. */
async function partsOf(contentType: string, body: Buffer): Promise<Part[]> {
  const parts: Part[] = []
  try {
    const form = new Busboy({
      headers: { 'content-type': contentType },
      limits: { parts: MAX_PARTS },
      isPartAFile: () => true,
    })
    const parsed = new Promise((resolve, reject) => {
      form.on('file', (name: string | undefined, content, filename, _encoding, media_type) => {
        if (name === undefined) reject(new Error('a part has no name'))
        const chunks: Buffer[] = []
        content.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
        content.on('end', () =>
          parts.push({ name: name ?? '', filename, media_type, content: Buffer.concat(chunks) }),
        )
      })
      form.on('partsLimit', () => reject(new Error(`there are more than ${MAX_PARTS} parts`)))
      form.on('error', reject).on('finish', resolve).end(body)
    })
    await orAborted(parsed, AbortSignal.timeout(MAX_PARSE_MS))
  } catch (error) {
    throw invalid('', `is not valid multipart/form-data: ${messageOf(error)}`)
  }
  if (parts.length === 0) throw invalid('', 'is not valid multipart/form-data: there are no parts')
  return parts
}

/** The fields of a form, decoded with the charsets that the form specifies. */
class Form {
  readonly #parts: readonly Part[]
  readonly #charsets: Readonly<Record<string, string>>

  constructor(parts: readonly Part[]) {
    this.#parts = parts
    this.#charsets = {}
    this.#charsets = charsetsShape.safeParse(this.json('charsets')).data ?? {}
  }

  part(name: string): Part | undefined {
    return this.#parts.find((part) => part.name === name)
  }

  text(name: string): string | undefined {
    const part = this.part(name)
    return part && decoded(part.content, this.#charsets[name])
  }

  json(name: string): unknown {
    try {
      return JSON.parse(this.text(name) ?? '')
    } catch {
      return undefined
    }
  }

  files() {
    return this.#parts
      .filter(({ name, filename }) => filename !== undefined && /^attachment\d+$/.test(name))
      .map(({ filename = '', media_type, content }) => ({ filename, media_type, content }))
  }
}

function decoded(bytes: Buffer, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return bytes.toString('utf8')
  }
}
