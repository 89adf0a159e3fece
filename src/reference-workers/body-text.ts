/** A body as JSON can carry it. */
export interface BodyText {
  readonly body: string
  readonly encoding: 'text' | 'base64'
}

/**
 * The text that the bytes are in the charset that the server names, UTF-8 if none; base64 if they are none. NUL
 * cannot be part of a text: the gate does not take it.
 */
export function bodyText(bytes: Buffer, contentType: string | undefined, truncated: boolean): BodyText {
  const text = decode(bytes, charsetOf(contentType), truncated)
  if (text === undefined || text.includes('\0')) return { body: bytes.toString('base64'), encoding: 'base64' }
  return { body: text, encoding: 'text' }
}

function charsetOf(contentType = ''): string {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType) ?? []
  return charset
}

function decode(bytes: Buffer, charset: string, truncated: boolean): string | undefined {
  try {
    // A character that the cut went through is left out.
    return new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: truncated })
  } catch {
    return undefined
  }
}
