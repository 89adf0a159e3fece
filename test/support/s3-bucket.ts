import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { S3Error } from './s3-error.ts'

/** The minimum size of a part that is not the last. */
export const MIN_PART_BYTES = 5 * 1024 * 1024

interface Piece {
  readonly path: string
  readonly size: number
  /** MD5 in hex. */
  readonly md5: string
}

export interface S3Object {
  readonly pieces: readonly Piece[]
  readonly size: number
  readonly etag: string
  readonly contentType: string
}

interface Upload {
  readonly key: string
  readonly contentType: string
  readonly parts: Map<number, Piece>
}

/** Objects and unfinished uploads, with their bytes on disk. */
export class S3Bucket {
  readonly objects = new Map<string, S3Object>()
  readonly uploads = new Map<string, Upload>()
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async put(key: string, content: AsyncIterable<Buffer>, contentType: string): Promise<S3Object> {
    const piece = await this.#write(content)
    const object = { pieces: [piece], size: piece.size, etag: `"${piece.md5}"`, contentType }
    this.objects.set(key, object)
    return object
  }

  get(key: string): S3Object {
    const object = this.objects.get(key)
    if (object === undefined) throw new S3Error(404, 'NoSuchKey', 'The specified key does not exist.')
    return object
  }

  async *read({ pieces }: S3Object, start: number, end: number): AsyncGenerator<Buffer> {
    let at = 0
    for (const { path, size } of pieces) {
      const from = Math.max(start - at, 0)
      const to = Math.min(end - at, size)
      if (from < to) yield* createReadStream(path, { start: from, end: to - 1 })
      at += size
    }
  }

  begin(key: string, contentType: string): string {
    const id = randomUUID()
    this.uploads.set(id, { key, contentType, parts: new Map() })
    return id
  }

  async putPart(id: string, number: number, content: AsyncIterable<Buffer>): Promise<string> {
    const upload = this.#upload(id)
    if (!(number >= 1 && number <= 10_000)) throw new S3Error(400, 'InvalidArgument', 'partNumber')
    const piece = await this.#write(content)
    upload.parts.set(number, piece)
    return `"${piece.md5}"`
  }

  complete(id: string, named: readonly { readonly number: number; readonly etag: string }[]): S3Object {
    const upload = this.#upload(id)
    if (named.length === 0) throw new S3Error(400, 'MalformedXML')
    const inOrder = named.every(({ number }, i) => i === 0 || number > (named[i - 1]?.number ?? 0))
    if (!inOrder) throw new S3Error(400, 'InvalidPartOrder')
    const pieces = named.map(({ number, etag }, i) => {
      const piece = upload.parts.get(number)
      if (piece === undefined || `"${piece.md5}"` !== etag) throw new S3Error(400, 'InvalidPart')
      if (i < named.length - 1 && piece.size < MIN_PART_BYTES) throw new S3Error(400, 'EntityTooSmall')
      return piece
    })
    const all = createHash('md5')
    for (const { md5 } of pieces) all.update(md5, 'hex')
    const size = pieces.reduce((total, piece) => total + piece.size, 0)
    const etag = `"${all.digest('hex')}-${pieces.length}"`
    const object = { pieces, size, etag, contentType: upload.contentType }
    this.objects.set(upload.key, object)
    this.uploads.delete(id)
    return object
  }

  async abort(id: string): Promise<void> {
    const { parts } = this.#upload(id)
    this.uploads.delete(id)
    for (const { path } of parts.values()) await rm(path, { force: true })
  }

  async remove(key: string): Promise<void> {
    const object = this.objects.get(key)
    this.objects.delete(key)
    for (const { path } of object?.pieces ?? []) await rm(path, { force: true })
  }

  #upload(id: string): Upload {
    const upload = this.uploads.get(id)
    if (upload === undefined) throw new S3Error(404, 'NoSuchUpload')
    return upload
  }

  async #write(content: AsyncIterable<Buffer>): Promise<Piece> {
    const path = join(this.#folder, randomUUID())
    const md5 = createHash('md5')
    let size = 0
    await pipeline(
      content,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          md5.update(chunk)
          size += chunk.length
          yield chunk
        }
      },
      createWriteStream(path),
    )
    return { path, size, md5: md5.digest('hex') }
  }
}
