import { expect, it } from 'vitest'
import { type Forgery, forgedProvider } from '../support/forged-provider.ts'
import { signingKey } from '../support/issuer.ts'
import { allowAnn, beginSignIn, CLIENT_ID, providerSettings } from './external-support.ts'
import { Browser, database, serve } from './support.ts'

/** Signs in with an id token that differs from the right one. */
async function signInWith(forgery: Forgery) {
  const { url, state } = await forgedProvider(CLIENT_ID)
  const server = await serve({ ...(await database('SQLite')), ...providerSettings(url) })
  await allowAnn(server)
  const browser = new Browser()
  const start = await beginSignIn(browser, server)
  state.nonce = start.searchParams.get('nonce') ?? ''
  state.forgery = forgery
  const returned = new URL('/console/oidc/callback', server.url)
  returned.searchParams.set('code', 'a-code')
  returned.searchParams.set('state', start.searchParams.get('state') ?? '')
  return { ...(await browser.open(returned)), start, state }
}

it('the right id token signs the person in', async () => {
  const { status, url, start } = await signInWith({})
  expect([status, url.pathname]).toEqual([200, '/console/overview'])
  expect(Object.fromEntries(start.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: CLIENT_ID,
    scope: 'openid email',
    code_challenge_method: 'S256',
    redirect_uri: `${url.origin}/console/oidc/callback`,
  })
})

const past = Math.floor(Date.now() / 1000) - 3600

it.each([
  ['with another nonce', { nonce: 'another-nonce' }],
  ['without a nonce', { nonce: undefined }],
  ['of another issuer', { iss: 'https://other.example' }],
  ['for another audience', { aud: 'another-client' }],
  ['that has expired', { exp: past, iat: past - 600 }],
  ['without a subject', { sub: undefined }],
])('an id token %s is refused', async (_name, claims) => {
  const { status, page, url } = await signInWith({ claims })
  expect([status, url.pathname]).toEqual([403, '/console/oidc/callback'])
  expect(page).toContain('The response of the identity provider is not valid')
})

it('an id token that another key has signed is refused', async () => {
  const { status, state } = await signInWith({ key: await signingKey('first') })
  expect(status).toBe(403)
  expect(state.requests).toContain('/jwks')
})

it.each([
  ['not verified', { email_verified: false }],
  ['verified as a text', { email_verified: 'true' }],
  ['absent', { email: undefined }],
])('an email address that is %s does not identify a person', async (_name, claims) => {
  const { status, page } = await signInWith({ claims })
  expect(status).toBe(403)
  expect(page).toContain('You have no access yet')
})

it('text of the provider is shown as plain text', async () => {
  const { page } = await signInWith({ claims: { sub: '<script>x</script>', email: '<b>@example.com' } })
  expect(page).toContain('&lt;script&gt;')
  expect(page).not.toContain('<script>x')
})
