import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { type Caller, ROLES } from '../core/principal.ts'

/** How long somebody stays signed in. */
export const SIGN_IN_SECONDS = 12 * 3600

/** A person who has signed in, as the credential said at that time. */
const signInShape = z.strictObject({
  tenant: z.string(),
  person: z.string().min(1).max(255),
  role: z.enum(ROLES),
  /** Whether a key was asked for. */
  key: z.boolean(),
  /** Ties the forms of a page to the one who got it. */
  nonce: z.string().min(16).max(64),
  until: z.int(),
})

export type SignIn = z.output<typeof signInShape>

/** Makes and reads the cookie of somebody who has signed in. */
export class SignIns {
  readonly #secret: Buffer
  readonly #now: () => number

  constructor(secret: Buffer, now: () => number = Date.now) {
    this.#secret = secret
    this.#now = now
  }

  begin({ tenant, principal, role }: Caller, key: boolean): SignIn {
    const nonce = randomBytes(16).toString('base64url')
    return { tenant, person: principal.id, role, key, nonce, until: this.#now() + SIGN_IN_SECONDS * 1000 }
  }

  write(signIn: SignIn): string {
    const body = Buffer.from(JSON.stringify(signIn)).toString('base64url')
    return `${body}.${this.#sign('cookie', body)}`
  }

  /** Undefined if it is not ours, was changed, or is over. */
  read(cookie: string): SignIn | undefined {
    const [body = '', signature = '', ...rest] = cookie.split('.')
    if (rest.length > 0 || !isSame(signature, this.#sign('cookie', body))) return undefined
    const parsed = signInShape.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')))
    return parsed.success && parsed.data.until > this.#now() ? parsed.data : undefined
  }

  /** What every form has to bring back. It is of use to nobody who has not the cookie. */
  formToken({ nonce }: SignIn): string {
    return this.#sign('form', nonce)
  }

  isFormToken(signIn: SignIn, token: string): boolean {
    return isSame(token, this.formToken(signIn))
  }

  #sign(purpose: string, text: string): string {
    return createHmac('sha256', this.#secret).update(`${purpose}\n${text}`).digest('base64url')
  }
}

/** Whoever has signed in is a person. */
export function callerFor({ tenant, person, role }: SignIn): Caller {
  return { tenant, principal: { kind: 'human', id: person }, role }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
