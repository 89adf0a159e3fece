import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { chromiumProgram, launchChromium } from '../support/chromium.ts'
import { allowAnn, ISSUER_NAME, openBoth } from './external-support.ts'
import { begin, database, KEY, register, serve } from './support.ts'

const program = chromiumProgram()

/** The address of an application, which receives the browser after the decision. */
async function application() {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    // A link of the application leads to the authorization server, as from another site.
    response.end(`<a id="start" href="${state.start}">Sign in</a><p>${request.url?.split('?')[0]}</p>`)
  })
  const state = { start: '' }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { state, url: `http://localhost:${(server.address() as AddressInfo).port}` }
}

describe.skipIf(program === undefined)('the authorization server in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(program ?? '')
  })
  afterAll(() => browser.close())

  it.each([
    ['Allow', 'code'],
    ['Refuse', 'error'],
  ] as const)('a person follows a link, signs in and chooses %s', async (button, parameter) => {
    const server = await serve(await database('SQLite'))
    const { state, url } = await application()
    const redirect_uri = `${url}/callback`
    const { client_id } = await register(server, {
      client_name: '<b>Planner</b>\u202E',
      redirect_uris: [redirect_uri],
    })
    const flow = await begin(server, client_id, { redirect_uri, scope: 'tasks:read tasks:write' })
    state.start = flow.url.href
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const problems: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('favicon')) problems.push(message.text())
    })
    await page.goto(url)
    await page.click('#start')
    await page.getByLabel('Your key').fill(KEY)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    const text = await page.locator('main').textContent()
    expect(text).toContain('<b>Planner</b>')
    expect(text).toContain(new URL(redirect_uri).host)
    expect(text).toContain('Create, retry and cancel own tasks')
    expect(text).toContain('agent:maria')
    expect(text).not.toContain('Acknowledge receipts')
    await page.getByRole('button', { name: button }).click()
    await page.waitForURL(`${redirect_uri}?*`)
    const returned = new URL(page.url()).searchParams
    expect(returned.get(parameter)).toBeTruthy()
    expect(returned.get('state')).toBe(flow.state)
    expect(returned.get('iss')).toBe(server.url)
    const cookies = await context.cookies(server.url)
    for (const { httpOnly, sameSite } of cookies) expect([httpOnly, sameSite]).not.toEqual([false, 'None'])
    expect(problems).toEqual([])
  })

  it('a person signs in through an identity provider and allows the client that has asked', async () => {
    const { server } = await openBoth()
    await allowAnn(server)
    const { state, url } = await application()
    const redirect_uri = `${url}/callback`
    const { client_id } = await register(server, { redirect_uris: [redirect_uri] })
    const flow = await begin(server, client_id, { redirect_uri })
    state.start = flow.url.href
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await page.goto(url)
    await page.click('#start')
    await page.getByRole('button', { name: `Sign in with ${ISSUER_NAME}` }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    expect(await page.locator('main').textContent()).toContain('agent:ann')
    const cookies = await context.cookies(`${server.url}/console/oidc/callback`)
    const session = cookies.find(({ name }) => name.startsWith('asyncgate_console'))
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
    expect(cookies.some(({ name }) => name.startsWith('asyncgate_oidc'))).toBe(false)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`${redirect_uri}?*`)
    expect(new URL(page.url()).searchParams.get('code')).toBeTruthy()
  })
})
