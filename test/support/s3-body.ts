import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { crc32 } from 'node:zlib'
import { S3Error } from './s3-error.ts'

const TRAILER = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'

/** The content of a request, checked against everything that its headers state about it. */
export async function* bodyOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  const { headers } = request
  const form = String(headers['x-amz-content-sha256'])
  const sums = new Sums()
  if (form === TRAILER) {
    const decoder = new ChunkDecoder(request)
    for await (const chunk of decoder.chunks()) {
      sums.add(chunk)
      yield chunk
    }
    const length = Number(headers['x-amz-decoded-content-length'])
    if (sums.size !== length) throw new S3Error(400, 'IncompleteBody', `${sums.size} instead of ${length}`)
    const announced = String(headers['x-amz-trailer'])
    if (!decoder.trailers.has(announced)) throw new S3Error(400, 'MalformedTrailerError', announced)
    for (const [name, value] of decoder.trailers) sums.check(name, value)
  } else {
    if (form !== 'UNSIGNED-PAYLOAD' && !/^[0-9a-f]{64}$/.test(form)) {
      throw new S3Error(501, 'NotImplemented', form)
    }
    for await (const chunk of request) {
      sums.add(chunk)
      yield chunk
    }
    if (form !== 'UNSIGNED-PAYLOAD' && form !== sums.sha256('hex')) {
      throw new S3Error(400, 'XAmzContentSHA256Mismatch')
    }
  }
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith('x-amz-checksum-')) sums.check(name, String(value))
  }
  const md5 = headers['content-md5']
  if (md5 !== undefined && md5 !== sums.md5('base64')) throw new S3Error(400, 'BadDigest', 'Content-MD5')
}

class Sums {
  readonly #sha256 = createHash('sha256')
  readonly #md5 = createHash('md5')
  #crc32 = 0
  size = 0

  add(chunk: Buffer): void {
    this.size += chunk.length
    this.#sha256.update(chunk)
    this.#md5.update(chunk)
    this.#crc32 = crc32(chunk, this.#crc32)
  }

  sha256 = (encoding: 'hex' | 'base64') => this.#sha256.copy().digest(encoding)
  md5 = (encoding: 'hex' | 'base64') => this.#md5.copy().digest(encoding)

  check(name: string, value: string): void {
    const found = name.endsWith('-crc32')
      ? this.#crc32Base64()
      : name.endsWith('-sha256')
        ? this.sha256('base64')
        : ''
    if (found === '') throw new S3Error(501, 'NotImplemented', name)
    if (found !== value) throw new S3Error(400, 'BadDigest', name)
  }

  #crc32Base64(): string {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(this.#crc32)
    return bytes.toString('base64')
  }
}

/** The aws-chunked encoding: a length in hex, the bytes, and headers after the last chunk. */
class ChunkDecoder {
  readonly trailers = new Map<string, string>()
  readonly #source: AsyncIterator<Buffer>
  #rest = Buffer.alloc(0)

  constructor(request: IncomingMessage) {
    if (!String(request.headers['content-encoding']).includes('aws-chunked')) {
      throw new S3Error(400, 'InvalidRequest', 'the content encoding is not aws-chunked')
    }
    this.#source = request[Symbol.asyncIterator]()
  }

  async *chunks(): AsyncGenerator<Buffer> {
    for (;;) {
      const [length = ''] = (await this.#line()).split(';')
      if (!/^[0-9a-f]+$/i.test(length)) throw new S3Error(400, 'IncompleteBody', 'no length of a chunk')
      let left = Number.parseInt(length, 16)
      if (left === 0) break
      while (left > 0) {
        if (this.#rest.length === 0) await this.#more()
        const part = this.#rest.subarray(0, left)
        this.#rest = this.#rest.subarray(part.length)
        left -= part.length
        yield part
      }
      if ((await this.#line()) !== '') throw new S3Error(400, 'IncompleteBody', 'no end of a chunk')
    }
    for (let line = await this.#line(); line !== ''; line = await this.#line()) {
      const [name = '', value = ''] = line.split(':')
      this.trailers.set(name.toLowerCase(), value.trim())
    }
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf('\r\n')
      if (end >= 0) {
        const line = this.#rest.subarray(0, end).toString('latin1')
        this.#rest = this.#rest.subarray(end + 2)
        return line
      }
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#source.next()
    if (done) throw new S3Error(400, 'IncompleteBody', 'it ends too soon')
    this.#rest = Buffer.concat([this.#rest, value])
  }
}
