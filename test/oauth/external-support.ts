import { type AddressInfo, createServer } from 'node:net'
import type { OpenServer } from '../../src/server/open-server.ts'
import { externalProvider, followRedirects } from '../support/external-provider.ts'
import { admin } from '../support/gates.ts'
import { Browser, database, type Settings, serve } from './support.ts'

export const CLIENT_ID = 'asyncgate'
export const CLIENT_SECRET = 'a-client-secret-for-tests'
export const EMAIL = 'ann@example.com'
export const ISSUER_NAME = 'Example ID'

/** Settings of a server on a port that is known before it starts, so that its callback can be registered. */
export async function knownAddress(): Promise<{ readonly url: string; readonly settings: Settings }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return { url: `http://127.0.0.1:${port}`, settings: { ASYNCGATE_PORT: String(port) } }
}

/** A server and its identity provider, where Ann is signed in. */
export async function openBoth(kind: 'SQLite' | 'PostgreSQL' = 'SQLite', over: Settings = {}) {
  const person = { sub: 'user-1', email: EMAIL, email_verified: true }
  const { url, settings } = await knownAddress()
  const callback = `${url}/console/oidc/callback`
  const client = (client_id: string) => ({
    client_id,
    client_secret: CLIENT_SECRET,
    redirect_uris: [callback],
  })
  const provider = await externalProvider({
    clients: [client(CLIENT_ID), client('another-client')],
    person: () => person,
  })
  const server = await serve({
    ...(await database(kind)),
    ...settings,
    ...providerSettings(provider.url),
    ...over,
  })
  return { server, provider, person, callback }
}

export function providerSettings(issuer: string): Settings {
  return {
    ASYNCGATE_OIDC_ISSUER: issuer,
    ASYNCGATE_OIDC_CLIENT_ID: CLIENT_ID,
    ASYNCGATE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    ASYNCGATE_OIDC_NAME: ISSUER_NAME,
  }
}

/** An admin lets Ann sign in. */
export function allowAnn({ gate }: Pick<OpenServer, 'gate'>, tenant = 'default', role = 'admin') {
  return gate.putIdentity(admin(tenant), { email: EMAIL, principal: { kind: 'human', id: 'ann' }, role })
}

/** Begins a sign-in. Resolves with the address of the provider. */
export async function beginSignIn(browser: Browser, { url }: OpenServer, next = ''): Promise<URL> {
  return (await browser.open(`${url}/console/oidc/sign-in`, { next })).url
}

/** Signs in at the provider. Resolves with the page that the browser arrives at. */
export async function signIn(server: OpenServer, next = '', browser = new Browser()) {
  const start = await beginSignIn(browser, server, next)
  const returned = await followRedirects(start, `${server.url}/console/oidc/callback`)
  return { browser, returned, ...(await browser.open(returned)) }
}
