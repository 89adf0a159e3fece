import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Fault, invalid } from '../core/errors.ts'

/** The body as text. More than `maxBytes` is refused as soon as it is seen, whatever Content-Length says. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let over = false
    const refuse = (fault: Fault) => {
      if (over) return
      over = true
      request.pause()
      reject(fault)
    }
    const onData = (chunk: Buffer) => {
      if (over) return
      size += chunk.length
      if (size > maxBytes) refuse(tooLarge(maxBytes))
      else chunks.push(chunk)
    }
    const onEnd = () => {
      if (over) return
      over = true
      const [first, ...others] = chunks
      const bytes = first === undefined || others.length > 0 ? Buffer.concat(chunks) : first
      if (isUtf8(bytes)) resolve(bytes.toString('utf8'))
      else reject(invalid('', 'is not UTF-8'))
    }
    const onCut = () => refuse(invalid('', 'ends before its end'))
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return reject(tooLarge(maxBytes))
    if (request.destroyed && !request.readableEnded) return onCut()
    request.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut)
  })
}

function tooLarge(maxBytes: number): Fault {
  return new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: maxBytes })
}

export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json *(?:; *charset="?utf-8"? *)?$/i

/** Refuses a body that is not JSON before it is read. A form of a web page cannot pass for JSON. */
export function checkMediaType(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? ''
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (!JSON_TYPE.test(type) || encoding !== 'identity') {
    throw new Fault('UNSUPPORTED_MEDIA_TYPE', {
      content_type: type.slice(0, 128),
      ...(encoding !== 'identity' && { content_encoding: encoding.slice(0, 128) }),
    })
  }
}
