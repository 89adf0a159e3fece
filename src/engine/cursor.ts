import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalid } from '../core/errors.ts'
import { canonical } from '../core/json/json.ts'

/** What a cursor is good for: only the same question of the same tenant. */
export interface CursorScope {
  readonly tenant: number
  readonly query: unknown
}

const MAC_BYTES = 16

/** Opaque positions in a listing, signed so that a made-up one is refused instead of starting somewhere. */
export class Cursors {
  readonly #secret: () => Promise<Buffer>

  constructor(secret: () => Promise<Buffer>) {
    this.#secret = secret
  }

  async write(scope: CursorScope, position: number): Promise<string> {
    const mac = await this.#mac(scope, position)
    return Buffer.concat([mac, Buffer.from(String(position))]).toString('base64url')
  }

  async read(scope: CursorScope, cursor: string): Promise<number> {
    const bytes = Buffer.from(cursor, 'base64url')
    const position = Number(bytes.toString('utf8', MAC_BYTES))
    if (bytes.length > MAC_BYTES && Number.isSafeInteger(position)) {
      const mac = await this.#mac(scope, position)
      if (timingSafeEqual(mac, bytes.subarray(0, MAC_BYTES))) return position
    }
    throw invalid('cursor', 'is not a cursor of this listing')
  }

  async #mac(scope: CursorScope, position: number): Promise<Buffer> {
    const text = canonical({ position, query: scope.query, tenant: scope.tenant })
    return createHmac('sha256', await this.#secret())
      .update(text)
      .digest()
      .subarray(0, MAC_BYTES)
  }
}
