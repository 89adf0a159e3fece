import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { AuthSettings } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import { type Caller, ROLES } from '../core/principal.ts'
import { type GuardSettings, isAllowedOrigin, isHttps } from '../http/guard.ts'

const SIGN_IN_SECONDS = 12 * 3600

/** A person who is signed in, with the role that their credential had at that time. */
const signInShape = z.strictObject({
  tenant: z.string(),
  person: z.string().min(1).max(255),
  role: z.enum(ROLES),
  /** Whether the person signed in themselves. A server that requires no key signs every visitor in. */
  key: z.boolean(),
  /** The issued key of the sign-in, which ends with the key. */
  key_id: z.string().max(64).optional(),
  /** The identity of a sign-in through an identity provider, which ends with this revision. */
  identity: z.strictObject({ id: z.string().max(64), revision: z.string().max(64) }).optional(),
  /** Binds forms to this sign-in. */
  nonce: z.string().min(16).max(64),
  until: z.int(),
})

export type SignIn = z.output<typeof signInShape>

/** Creates and verifies the cookies and form tokens of sign-ins. */
export class SignIns {
  readonly #secret: Buffer
  readonly #now: () => number

  constructor(secret: Buffer, now: () => number = Date.now) {
    this.#secret = secret
    this.#now = now
  }

  begin({ tenant, principal, role, key_id, identity }: Caller, key: boolean): SignIn {
    const nonce = randomBytes(16).toString('base64url')
    const until = this.#now() + SIGN_IN_SECONDS * 1000
    return {
      ...{ tenant, person: principal.id, role, key, nonce, until },
      ...(key_id !== undefined && { key_id }),
      ...(identity !== undefined && { identity }),
    }
  }

  write(signIn: SignIn): string {
    const body = Buffer.from(JSON.stringify(signIn)).toString('base64url')
    return `${body}.${this.#sign('cookie', body)}`
  }

  /** Undefined if the cookie has an invalid signature or has expired. */
  read(cookie: string): SignIn | undefined {
    const [body = '', signature = '', ...rest] = cookie.split('.')
    if (rest.length > 0 || !isSame(signature, this.#sign('cookie', body))) return undefined
    const parsed = signInShape.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')))
    return parsed.success && parsed.data.until > this.#now() ? parsed.data : undefined
  }

  /** The token that every form must contain. It is useless without the cookie. */
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

export function callerFor({ tenant, person, role }: SignIn): Caller {
  return { tenant, principal: { kind: 'human', id: person }, role }
}

/** Compares in the same time for every wrong text. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/**
 * The secret that signs cookies. It is derived from a secret of the database and the keys of the server, so all servers
 * with the same keys accept each other's cookies, and changing a key invalidates them.
 */
export function signingSecret(ofDatabase: Buffer, settings: AuthSettings): Buffer {
  const { api_key, admin_keys, local_keys } = settings
  const keys = [api_key, ...Object.values({ ...local_keys, ...admin_keys })].filter((key) => key !== null)
  const salt = JSON.stringify(keys.toSorted())
  return Buffer.from(hkdfSync('sha256', ofDatabase, salt, 'console sign-in 3', 32))
}

const COOKIE = 'asyncgate_console'

/**
 * Browsers share cookies between all ports of a host, so the name contains the port. Over https it has a prefix, with
 * which browsers accept the cookie only from this host: neither another subdomain nor a page over http can replace it.
 */
function cookieName(name: string, { headers }: IncomingMessage, isSecure: boolean): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1]
  return `${isSecure ? '__Host-' : ''}${name}${port === undefined ? '' : `_${port}`}`
}

export function readCookie(
  request: IncomingMessage,
  guard: GuardSettings,
  cookie: string = COOKIE,
): string | undefined {
  const name = cookieName(cookie, request, isHttps(request, guard))
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}

interface Cookie {
  readonly name: string
  /** Undefined removes the cookie. */
  readonly value: string | undefined
  /** The pages that receive the cookie over http. The prefix of https requires all pages. */
  readonly path: string
  readonly seconds: number
  /** Lax cookies are also sent when another site leads the browser here. */
  readonly sameSite: 'Strict' | 'Lax'
}

export function setCookie(
  request: IncomingMessage,
  response: ServerResponse,
  { name, value, path, seconds, sameSite }: Cookie,
  guard: GuardSettings,
): void {
  const isSecure = isHttps(request, guard)
  const attributes = [
    `${cookieName(name, request, isSecure)}=${value ?? ''}`,
    `Path=${isSecure ? '/' : path}`,
    `Max-Age=${value === undefined ? 0 : seconds}`,
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isSecure ? ['Secure'] : []),
  ]
  response.appendHeader('Set-Cookie', attributes.join('; '))
}

/** Sets the cookie of a sign-in; an undefined value removes it. */
export function writeCookie(
  request: IncomingMessage,
  response: ServerResponse,
  value: string | undefined,
  guard: GuardSettings,
): void {
  const attributes = { path: '/console', seconds: SIGN_IN_SECONDS, sameSite: 'Strict' } as const
  setCookie(request, response, { name: COOKIE, value, ...attributes }, guard)
}

/** Refuses forms of other sites. Browsers set these headers, and a page cannot change them. */
export function checkSameOrigin(headers: IncomingHttpHeaders, guard: GuardSettings): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') throw foreign('Sec-Fetch-Site')
  const { origin } = headers
  if (origin === undefined || isAllowedOrigin(origin, guard)) return
  if (!URL.canParse(origin) || new URL(origin).host !== headers.host) throw foreign('Origin')
}

function foreign(header: string): Fault {
  return new Fault('FORBIDDEN', { header }, 'This form was sent by another site.')
}
