import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { followRedirects } from '../support/external-provider.ts'
import { admin } from '../support/gates.ts'
import { allowAnn, beginSignIn, EMAIL, ISSUER_NAME, openBoth, signIn } from './external-support.ts'
import { Browser, begin, finish, KEY, refresh, register, statusWith } from './support.ts'

const failures = async (gate: Awaited<ReturnType<typeof openBoth>>['server']['gate']) =>
  (await gate.listAudit(admin(), { event: 'console_sign_in_failure' })).events

describe.each(['SQLite', 'PostgreSQL'] as const)('sign-in through an identity provider, on %s', (kind) => {
  it('a person whom an admin has allowed signs in, and can do what requires a person', async () => {
    const { server } = await openBoth(kind)
    const { identity_id } = await allowAnn(server)
    const { browser, page, url, status } = await signIn(server, '/console/keys')
    expect([status, url.pathname]).toEqual([200, '/console/keys'])
    expect(page).toContain('ann')
    const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const created = { token, kind: 'agent', id: 'planner', role: 'agent' }
    const saved = await browser.open(`${server.url}/console/keys`, created)
    expect(saved.status).toBe(200)
    expect((await server.gate.listKeys(admin())).keys).toMatchObject([{ created_by: 'human:ann' }])
    const { events } = await server.gate.listAudit(admin(), { event: 'console_sign_in' })
    expect(events).toMatchObject([{ principal: 'human:ann', subject: identity_id }])
  })

  it('sign-ins and grants end when the identity is removed or changed', async () => {
    const { server } = await openBoth(kind)
    const { client_id } = await register(server)
    for (const end of ['remove', 'change'] as const) {
      const { identity_id } = await allowAnn(server)
      const { browser } = await signIn(server)
      const flow = await begin(server, client_id)
      const tokens = await finish(flow, await browser.decide(flow.url))
      expect(await statusWith(server.url, tokens.access_token)).toBe(200)
      const stream = await browser.fetch(`${server.url}/console/events`)
      const closed = stream.text().catch(() => 'closed')
      if (end === 'remove') await server.gate.removeIdentity(admin(), { identity_id })
      else await allowAnn(server, 'default', 'viewer')
      const start = performance.now()
      expect((await browser.open(`${server.url}/console/keys`)).url.pathname).toBe('/console/login')
      await closed
      await vi.waitFor(async () => expect(await statusWith(server.url, tokens.access_token)).toBe(401))
      expect(performance.now() - start).toBeLessThan(2000)
      await expect(refresh(flow, tokens.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
      })
    }
  })
})

describe('sign-in through an identity provider', () => {
  it('the page after the sign-in is the consent for an OAuth client that the person was asked for', async () => {
    const { server } = await openBoth()
    await allowAnn(server)
    const { client_id } = await register(server)
    const flow = await begin(server, client_id)
    const browser = new Browser()
    const login = await browser.open(flow.url)
    expect(login.page).toContain(`Sign in with ${ISSUER_NAME}`)
    const next = login.url.searchParams.get('next') ?? ''
    const consent = await signIn(server, next, browser)
    expect(consent.url.pathname).toBe(next)
    expect(consent.page.replaceAll(/<[^>]*>/g, '')).toContain('agent:ann')
    const tokens = await finish(flow, await browser.decide(flow.url))
    expect(await statusWith(server.url, tokens.access_token)).toBe(200)
  })

  it.each(['https://evil.example/', '//evil.example', '/console/../v1/tasks', '/consolex'])(
    'the sign-in does not lead to %s',
    async (next) => {
      const { server } = await openBoth()
      await allowAnn(server)
      const { url } = await signIn(server, next)
      expect([url.origin, url.pathname]).toEqual([server.url, '/console/overview'])
    },
  )

  it('an unknown person is refused and sees what to send to an admin', async () => {
    const { server, provider, person } = await openBoth()
    const { browser, status, page } = await signIn(server)
    expect(status).toBe(403)
    for (const text of [EMAIL, person.sub, provider.url, 'Ask an admin']) expect(page).toContain(text)
    expect((await browser.open(`${server.url}/console/tasks`)).url.pathname).toBe('/console/login')
    expect(await failures(server.gate)).toMatchObject([{ subject: person.sub }])
  })

  it('an email address that is not verified does not count, but the subject does', async () => {
    const { server, provider, person } = await openBoth()
    await allowAnn(server)
    person.email_verified = false
    const refused = await signIn(server)
    expect(refused.status).toBe(403)
    expect(refused.page).toContain('not verified')
    await server.gate.putIdentity(admin(), {
      issuer: provider.url,
      subject: person.sub,
      principal: { kind: 'human', id: 'ann' },
      role: 'viewer',
    })
    expect((await signIn(server)).status).toBe(200)
  })

  it('a person signs in to the tenant of their identity', async () => {
    const { server } = await openBoth()
    await allowAnn(server, 'acme')
    const task = { type: 'job', payload: {} }
    await server.gate.createTask({ ...admin('acme') }, task)
    await server.gate.createTask({ ...admin() }, { ...task, type: 'of-another-tenant' })
    const { page } = await signIn(server, '/console/tasks')
    expect(page).toContain('job')
    expect(page).not.toContain('of-another-tenant')
  })

  it('a callback is refused in another browser, with another state, and a second time', async () => {
    const { server, callback } = await openBoth()
    await allowAnn(server)
    const browser = new Browser()
    const start = await beginSignIn(browser, server)
    const returned = await followRedirects(start, callback)
    const other = new Browser()
    await beginSignIn(other, server)
    expect((await other.open(returned)).status).toBe(403)
    expect((await new Browser().open(returned)).status).toBe(403)
    const changed = new URL(returned)
    changed.searchParams.set('state', 'another-state-of-some-length')
    expect((await browser.open(changed)).status).toBe(403)
    expect((await browser.open(returned)).status).toBe(200)
    const again = await browser.open(returned)
    expect(again.status).toBe(403)
    expect(again.page).toContain('was finished before')
  })

  it('a code is refused a second time, also with the cookie of its sign-in', async () => {
    const { server, callback } = await openBoth()
    await allowAnn(server)
    const response = await fetch(`${server.url}/console/oidc/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ next: '' }),
    })
    const [cookie = ''] = response.headers.getSetCookie()
    expect(cookie).toMatch(
      /^asyncgate_oidc_\d+=\S+; Path=\/console\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/,
    )
    const target = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(await response.text())?.[1] ?? ''
    const returned = await followRedirects(new URL(target.replaceAll('&amp;', '&')), callback)
    const arrive = () => fetch(returned, { headers: { cookie: cookie.split(';')[0] ?? '' } })
    expect((await arrive()).status).toBe(200)
    const again = await arrive()
    expect(again.status).toBe(403)
    expect(again.headers.getSetCookie().join()).not.toContain('asyncgate_console')
  })

  it('over https, the cookie of a sign-in can be set by this host only', async () => {
    const { server, callback } = await openBoth()
    await allowAnn(server)
    const headers = { 'x-forwarded-proto': 'https' }
    const body = new URLSearchParams({ next: '' })
    const response = await fetch(`${server.url}/console/oidc/sign-in`, { method: 'POST', body, headers })
    const [cookie = ''] = response.headers.getSetCookie()
    expect(cookie).toMatch(
      /^__Host-asyncgate_oidc_\d+=\S+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    const target = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(await response.text())?.[1] ?? ''
    const returned = await followRedirects(new URL(target.replaceAll('&amp;', '&')), callback)
    const pair = cookie.split(';')[0] ?? ''
    const arrive = (value: string) => fetch(returned, { headers: { ...headers, cookie: value } })
    expect((await arrive(pair.replace('__Host-', ''))).status).toBe(403)
    expect((await arrive(pair)).status).toBe(200)
  })

  it('the code of another client is refused', async () => {
    const { server, callback } = await openBoth()
    await allowAnn(server)
    const browser = new Browser()
    const start = await beginSignIn(browser, server)
    start.searchParams.set('client_id', 'another-client')
    const { status } = await browser.open(await followRedirects(start, callback))
    expect(status).toBe(403)
  })

  it('a response in the name of another issuer is refused', async () => {
    const { server, callback } = await openBoth()
    await allowAnn(server)
    const browser = new Browser()
    const returned = await followRedirects(await beginSignIn(browser, server), callback)
    returned.searchParams.set('iss', 'https://other.example')
    expect((await browser.open(returned)).status).toBe(403)
  })

  it('a sign-in that took more than ten minutes is refused', async () => {
    const { now } = Date
    let passedMs = 0
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + passedMs)
    onTestFinished(() => clock.mockRestore())
    const { server, callback } = await openBoth()
    await allowAnn(server)
    const browser = new Browser()
    const returned = await followRedirects(await beginSignIn(browser, server), callback)
    passedMs = 600_001
    const { status, page } = await browser.open(returned)
    expect(status).toBe(403)
    expect(page).toContain('has expired')
  })

  it('a person who refuses at the provider sees the sign-in page', async () => {
    const { server, provider, callback } = await openBoth()
    const browser = new Browser()
    const start = await beginSignIn(browser, server, '/console/tasks')
    const returned = new URL(callback)
    returned.searchParams.set('error', 'access_denied')
    returned.searchParams.set('iss', provider.url)
    returned.searchParams.set('state', start.searchParams.get('state') ?? '')
    const { status, page } = await browser.open(returned)
    expect(status).toBe(403)
    expect(page).toContain('refused the sign-in')
    expect(page).toContain('value="/console/tasks"')
  })

  it('while the provider cannot be reached people sign in with their keys', async () => {
    const { server, provider } = await openBoth()
    provider.stop()
    const browser = new Browser()
    const { status, page } = await browser.open(`${server.url}/console/oidc/sign-in`, { next: '' })
    expect(status).toBe(503)
    expect(page).toContain('The identity provider cannot be reached')
    const signedIn = await browser.open(`${server.url}/console/login`, { key: KEY, next: '' })
    expect([signedIn.status, signedIn.url.pathname]).toEqual([200, '/console/overview'])
  })

  it('a sign-in that another site begins is refused', async () => {
    const { server } = await openBoth()
    const response = await fetch(`${server.url}/console/oidc/sign-in`, {
      method: 'POST',
      headers: { origin: 'https://evil.example' },
      body: new URLSearchParams({ next: '' }),
    })
    expect(response.status).toBe(403)
    expect(response.headers.getSetCookie()).toEqual([])
  })
})
