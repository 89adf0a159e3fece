import { type IncomingMessage, request } from 'node:http'
import { onTestFinished } from 'vitest'
import { Authenticator, type AuthSettings } from '../../src/auth/credential.ts'
import { IssuedKeys } from '../../src/auth/issued-keys.ts'
import { Console } from '../../src/console/console.ts'
import { signingSecret } from '../../src/console/sign-in.ts'
import type { Gate } from '../../src/features/gate.ts'
import type { GuardSettings } from '../../src/http/guard.ts'
import { startServer } from '../../src/server/http-server.ts'
import type { StubTool } from '../gateway/calls/stub.ts'
import { type Answer, readAnswer } from '../http/support.ts'
import { admin } from '../support/gates.ts'

export const OPEN: AuthSettings = { api_key: null, allow_insecure_dev: true }
export const SHARED_KEY = 'a-shared-key-for-tests'
/** The key of maria. */
export const KEY = 'the-key-of-maria-0001'
export const KEY_OF_PEDRO = 'the-key-of-pedro-0002'
const SHARED: AuthSettings = { api_key: SHARED_KEY, allow_insecure_dev: false }
/** Maria and pedro have local keys. */
export const LOCKED: AuthSettings = { ...SHARED, local_keys: { maria: KEY, pedro: KEY_OF_PEDRO } }
export const ADMINS: AuthSettings = { ...SHARED, admin_keys: { maria: KEY, pedro: KEY_OF_PEDRO } }

export interface Pages {
  readonly url: string
  readonly errors: unknown[]
  /** A browser that stores cookies and does not follow redirects. */
  visitor(headers?: Readonly<Record<string, string>>): Visitor
}

/** A server with the console, which closes when the test ends. */
export async function servePages(
  gate: Gate,
  auth: AuthSettings & { readonly authenticator?: Authenticator } = OPEN,
  guard: Partial<GuardSettings> = {},
): Promise<Pages> {
  const errors: unknown[] = []
  const issued = new IssuedKeys(gate.keys, (error) => errors.push(error))
  const shared = {
    gate,
    authenticator: auth.authenticator ?? new Authenticator(auth, issued),
    guard: { allowed_hosts: [], allowed_origins: [], ...guard },
    maxBodyBytes: 1024 * 1024,
  }
  const secret = signingSecret(await gate.secretFor('console'), auth)
  const pages = new Console({ ...shared, secret, onError: (error) => errors.push(error) })
  const server = await startServer({ ...shared, drainMs: 0, graceMs: 100, console: pages.handle.bind(pages) })
  let closed: Promise<void> | undefined
  const close = () => {
    pages.close()
    issued.stop()
    closed ??= server.close()
    return closed
  }
  const closeGate = gate.close
  gate.close = async () => {
    await close()
    await closeGate()
  }
  onTestFinished(close)
  return { url: server.url, errors, visitor: (headers = {}) => new Visitor(server.port, headers) }
}

type Form = Readonly<Record<string, string | readonly string[]>>

export class Visitor {
  readonly port: number
  readonly #headers: Readonly<Record<string, string>>
  cookie = ''

  constructor(port: number, headers: Readonly<Record<string, string>>) {
    this.port = port
    this.#headers = headers
  }

  /** The page at a path below /console. */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#send('GET', path, '', headers)
  }

  /** Sends a form as a browser would. */
  post(path: string, form: Form = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const fields = Object.entries(form).flatMap(([name, value]) =>
      (typeof value === 'string' ? [value] : value).map((each): [string, string] => [name, each]),
    )
    return this.#send('POST', path, new URLSearchParams(fields).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    })
  }

  /** Sends the form of a page, with its hidden fields and the given ones. */
  async submit(page: string, action: string, form: Form = {}): Promise<Answer> {
    const { text } = await this.get(page)
    return this.post(action, { ...hiddenFields(text, action), ...form })
  }

  /** Follows a redirect. */
  follow({ status, headers }: Answer): Promise<Answer> {
    if (status !== 303) throw new Error(`the response has status ${status} and is no redirect`)
    return this.get((headers.location ?? '').replace(/^\/console/, ''))
  }

  async signIn(key: string, name?: string): Promise<Answer> {
    return this.post('/login', { key, ...(name !== undefined && { name }) })
  }

  async #send(
    method: string,
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const sent = { ...this.#headers, ...(this.cookie !== '' && { cookie: this.cookie }), ...headers }
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      request(
        { port: this.port, host: '127.0.0.1', method, path: `/console${path}`, headers: sent, agent: false },
        resolve,
      )
        .on('error', reject)
        .end(body)
    })
    const [cookie] = message.headers['set-cookie'] ?? []
    if (cookie !== undefined) this.cookie = cookie.split(';')[0] ?? ''
    return readAnswer(message)
  }
}

/** A visitor with the role viewer, who may read and change nothing. */
export async function viewerOf(gate: Gate): Promise<Visitor> {
  const principal = { kind: 'human', id: 'vera' }
  const { key } = await gate.createKey(admin(), { principal, role: 'viewer' })
  const visitor = (await servePages(gate, LOCKED)).visitor()
  await visitor.signIn(key)
  return visitor
}

/** The actions of the forms of a page that change something. */
export function actionsOf(page: string): string[] {
  const actions = Array.from(
    page.matchAll(/<form method="post" action="([^"]+)"/g),
    ([, action = '']) => action,
  )
  return actions.filter((action) => action !== '/console/logout')
}

/** The hidden fields of the form with this action. */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const form = page.split('<form ').find((part) => part.includes(`action="/console${action}"`))
  if (form === undefined) throw new Error(`the page has no form for ${action}`)
  const [inside = ''] = form.split('</form>')
  const fields = inside.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)
  return Object.fromEntries(Array.from(fields, ([, name = '', value = '']) => [name, unescaped(value)]))
}

export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

/** The text of a page without its markup. */
export function wordsOf(page: string): string {
  return unescaped(page.replace(/<[^>]+>/g, ' ')).replace(/\s+/g, ' ')
}

/** A tool that runs until its call is canceled. */
export const STUCK: StubTool = {
  run: (_, { signal }) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
}
