import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Fault, invalid } from '../core/errors.ts'

/** Slow senders must not hold a connection for long. */
const TIMEOUT_MS = 60_000

export function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  return read(request, maxBytes, textOf)
}

export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return read(request, maxBytes, (bytes) => bytes)
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalid('', 'is not UTF-8')
  return bytes.toString('utf8')
}

/** Refuses a body as soon as more than `maxBytes` have arrived, whatever Content-Length says. */
function read<T>(request: IncomingMessage, maxBytes: number, use: (bytes: Buffer) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let over = false
    // Every request emits close, and creating a Fault is expensive, so it is created only when it is needed.
    const refuse = (fault: () => Fault) => {
      if (over) return
      over = true
      clearTimeout(timer)
      request.pause()
      reject(fault())
    }
    const onData = (chunk: Buffer) => {
      if (over) return
      size += chunk.length
      if (size > maxBytes) refuse(() => tooLarge(maxBytes))
      else chunks.push(chunk)
    }
    const onEnd = () => {
      if (over) return
      over = true
      clearTimeout(timer)
      const [first, ...others] = chunks
      try {
        resolve(use(first === undefined || others.length > 0 ? Buffer.concat(chunks) : first))
      } catch (error) {
        reject(error)
      }
    }
    const cut = () => invalid('', 'was truncated')
    const onCut = () => refuse(cut)
    const onLate = () => refuse(() => invalid('', `took longer than ${TIMEOUT_MS / 1000} s to arrive`))
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return reject(tooLarge(maxBytes))
    if (request.destroyed && !request.readableEnded) return reject(cut())
    const timer = setTimeout(onLate, TIMEOUT_MS)
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

/** Refuses a body that is not JSON before it is read. Forms of web pages cannot have this media type. */
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
