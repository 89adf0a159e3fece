import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalid } from '../core/errors.ts'
import { canonical } from '../core/json/json.ts'

/** A cursor is valid only for the same query of the same tenant. */
export interface CursorScope {
  readonly tenant: number
  readonly query: unknown
}

const MAC_BYTES = 16

/**
 * Opaque positions in a listing, signed so that a forged one is refused. The position comes first: its digits keep the
 * text from starting with a hyphen, which a command line would take for an option.
 */
export class Cursors {
  readonly #secret: () => Promise<Buffer>

  constructor(secret: () => Promise<Buffer>) {
    this.#secret = secret
  }

  async write(scope: CursorScope, position: number): Promise<string> {
    const mac = await this.#mac(scope, position)
    return Buffer.concat([Buffer.from(String(position)), mac]).toString('base64url')
  }

  async read(scope: CursorScope, cursor: string): Promise<number> {
    const bytes = Buffer.from(cursor, 'base64url')
    const end = bytes.length - MAC_BYTES
    const position = end > 0 ? Number(bytes.toString('utf8', 0, end)) : Number.NaN
    if (Number.isSafeInteger(position)) {
      const mac = await this.#mac(scope, position)
      if (timingSafeEqual(mac, bytes.subarray(end))) return position
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
