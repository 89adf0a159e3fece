import { expect, it } from 'vitest'
import { Authenticator, type Credential } from '../../src/auth/credential.ts'
import { SignIns, signingSecret } from '../../src/console/sign-in.ts'
import { admin, describeGates } from '../support/gates.ts'
import { ask, statusOf } from '../support/steps.ts'
import {
  ADMINS,
  hiddenFields,
  KEY,
  KEY_OF_PEDRO,
  LOCKED,
  SHARED_KEY,
  servePages,
  wordsOf,
} from './support.ts'

describeGates(
  'sign-in to the console',
  (open) => {
    it('sign-in requires a key and then opens the requested page', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate, LOCKED)).visitor()
      const refused = await visitor.get('/tasks?q=status%3Afailed')
      expect(refused).toMatchObject({
        status: 303,
        headers: { location: '/console/login?next=%2Fconsole%2Ftasks%3Fq%3Dstatus%253Afailed' },
      })
      const login = await visitor.follow(refused)
      const next = hiddenFields(login.text, '/login')
      expect(await visitor.post('/login', { ...next, key: 'wrong', name: 'maria' })).toMatchObject({
        status: 401,
      })
      const entered = await visitor.post('/login', { ...next, key: KEY })
      expect(entered).toMatchObject({
        status: 303,
        headers: { location: '/console/tasks?q=status%3Afailed' },
      })
      const page = await visitor.follow(entered)
      expect(page.status).toBe(200)
      expect(wordsOf(page.text)).toContain('Signed in as maria')
    })

    it('the name of the key is used, not the name in the form', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate, ADMINS)).visitor()
      await visitor.signIn(KEY_OF_PEDRO, 'maria')
      expect(wordsOf((await visitor.get('/tasks')).text)).toContain('Signed in as pedro')
    })

    it('the shared key is refused with any name', async () => {
      const { gate } = await open()
      const alone = { ...LOCKED, local_keys: null }
      for (const auth of [ADMINS, LOCKED, alone]) {
        const visitor = (await servePages(gate, auth)).visitor()
        const answer = await visitor.signIn(SHARED_KEY, 'maria')
        expect(answer.status).toBe(403)
        expect(answer.headers['set-cookie']).toBeUndefined()
        expect(wordsOf(answer.text)).toContain('Sign in with your own key.')
      }
      const open_ = (await servePages(gate, { ...ADMINS, api_key: null, allow_insecure_dev: true })).visitor()
      expect(await open_.get('/tasks')).toMatchObject({ status: 303 })
    })

    it('a cookie that is signed with the shared key is refused', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate, { ...LOCKED, local_keys: null })).visitor()
      const guessed = Buffer.alloc(32)
      const forged = new SignIns(signingSecret(guessed, { api_key: SHARED_KEY, allow_insecure_dev: false }))
      const signIn = forged.begin({ ...admin(), principal: { kind: 'human', id: 'maria' } }, true)
      visitor.cookie = `asyncgate_console_${visitor.port}=${forged.write(signIn)}`
      expect(await visitor.get('/approvals')).toMatchObject({ status: 303 })
    })

    it('a key that does not belong to a person is refused', async () => {
      const { gate } = await open()
      class Machines extends Authenticator {
        override authenticate(): Credential {
          const principal = { kind: 'service', id: 'ci' } as const
          return { kind: 'bound', tenant: 'default', principal, role: 'admin' }
        }
      }
      const visitor = (await servePages(gate, { ...LOCKED, authenticator: new Machines(LOCKED) })).visitor()
      expect(await visitor.signIn('any', 'maria')).toMatchObject({ status: 403 })
      expect(await visitor.get('/tasks')).toMatchObject({ status: 303 })
    })

    it('visitors are signed in as operator if no key is required', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      const page = await visitor.get('/tasks')
      expect(page.status).toBe(200)
      expect(wordsOf(page.text)).toContain('Signed in as operator')
      expect(page.text).not.toContain('Sign out')
    })

    it('sign-out ends the sign-in', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate, LOCKED)).visitor()
      await visitor.signIn(KEY)
      expect(await visitor.get('/logout')).toMatchObject({ headers: { location: '/console' } })
      const signedOut = await visitor.submit('/tasks', '/logout')
      expect(signedOut.headers['set-cookie']?.[0]).toMatch(/=; Path=\/console; Max-Age=0;/)
      expect(await visitor.get('/tasks')).toMatchObject({ status: 303 })
    })

    it('sign-in never redirects to another site', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate, LOCKED)).visitor()
      for (const next of [
        'https://evil.example/console',
        '//evil.example',
        '/console/../v1/tasks',
        '/console\\@evil.example',
        'javascript:alert(1)',
        '/consoleevil',
      ]) {
        const answer = await visitor.post('/login', { key: KEY, next })
        expect(answer.headers.location).toBe('/console')
      }
    })

    it('the cookie is restricted to the console, to HTTP and to the same site', async () => {
      const { gate } = await open()
      const pages = await servePages(gate, LOCKED)
      const [plain = ''] = (await pages.visitor().signIn(KEY)).headers['set-cookie'] ?? []
      expect(plain).toMatch(/; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/)
      expect(plain).not.toContain(KEY)
    })

    it('over https, browsers accept the cookie from this host only', async () => {
      const { gate } = await open()
      const pages = await servePages(gate, LOCKED)
      const visitor = pages.visitor({ 'x-forwarded-proto': 'https' })
      const [secure = ''] = (await visitor.signIn(KEY)).headers['set-cookie'] ?? []
      expect(secure).toMatch(
        /^__Host-asyncgate_console_\d+=\S+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
      )
      expect(await visitor.get('/tasks')).toMatchObject({ status: 200 })
      visitor.cookie = visitor.cookie.replace('__Host-', '')
      expect(await visitor.get('/tasks')).toMatchObject({ status: 303 })
      visitor.cookie = secure.split(';')[0] ?? ''
      const signedOut = await visitor.submit('/tasks', '/logout')
      expect(signedOut.headers['set-cookie']?.[0]).toMatch(/^__Host-.*=; Path=\/; Max-Age=0;.*; Secure$/)
    })

    it('each port has a separate cookie', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      await visitor.get('/tasks', { host: 'localhost:8080' })
      const first = visitor.cookie
      await visitor.get('/tasks', { host: 'localhost:8081' })
      expect(first.split('=')[0]).toBe('asyncgate_console_8080')
      expect(visitor.cookie.split('=')[0]).toBe('asyncgate_console_8081')
    })
  },
  ['sqlite'],
)

describeGates(
  'forms of the console',
  (open) => {
    async function prepare() {
      const { gate } = await open()
      const pages = await servePages(gate, LOCKED)
      const visitor = pages.visitor()
      await visitor.signIn(KEY)
      const { task_id } = await ask(gate)
      const path = `/tasks/${task_id}`
      const { text } = await visitor.get(path)
      return { gate, pages, visitor, task_id, path, fields: hiddenFields(text, `${path}/cancel`) }
    }

    it('a form is accepted from its own page', async () => {
      const { gate, visitor, path, fields, task_id } = await prepare()
      expect(await visitor.post(`${path}/cancel`, fields)).toMatchObject({ status: 303 })
      expect(await statusOf(gate, { task_id })).toBe('canceled')
    })

    it('a form is refused without the token of the sign-in that loaded the page', async () => {
      const { gate, pages, visitor, path, fields, task_id } = await prepare()
      const other = pages.visitor()
      await other.signIn(KEY_OF_PEDRO)
      expect(await other.post(`${path}/cancel`, fields)).toMatchObject({ status: 403 })
      expect(await visitor.post(`${path}/cancel`, {})).toMatchObject({ status: 403 })
      expect(await visitor.post(`${path}/cancel`, { token: 'x' })).toMatchObject({ status: 403 })
      expect(await statusOf(gate, { task_id })).toBe('queued')
    })

    it('a form is refused from other origins and for other hosts', async () => {
      const { gate, visitor, path, fields, task_id } = await prepare()
      for (const headers of [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: 'http://localhost:9999' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { host: 'evil.example' },
      ]) {
        expect(await visitor.post(`${path}/cancel`, fields, headers), JSON.stringify(headers)).toMatchObject({
          status: 403,
        })
      }
      expect(await statusOf(gate, { task_id })).toBe('queued')
    })

    it('a form is accepted behind a proxy that terminates https', async () => {
      const { gate } = await open()
      const pages = await servePages(gate, LOCKED, { allowed_hosts: ['gate.example'] })
      const visitor = pages.visitor({ host: 'gate.example', origin: 'https://gate.example' })
      await visitor.signIn(KEY)
      const { task_id } = await ask(gate)
      const sent = await visitor.submit(`/tasks/${task_id}`, `/tasks/${task_id}/cancel`)
      expect(sent.status).toBe(303)
    })

    it('a form is refused with another media type, method or path', async () => {
      const { visitor, path, fields } = await prepare()
      const json = { 'content-type': 'application/json' }
      expect(await visitor.post(`${path}/cancel`, fields, json)).toMatchObject({ status: 415 })
      expect(await visitor.get(`${path}/cancel`)).toMatchObject({ status: 303 })
      expect(await visitor.post(path, fields)).toMatchObject({ status: 405 })
      expect(await visitor.get('/nowhere')).toMatchObject({ status: 404 })
      expect(await visitor.get('/tasks/%E0%A4%A')).toMatchObject({ status: 404 })
    })

    it('a form redirects to the sign-in page after a sign-out', async () => {
      const { visitor, path, fields } = await prepare()
      visitor.cookie = ''
      expect(await visitor.post(`${path}/cancel`, fields)).toMatchObject({
        status: 303,
        headers: { location: '/console/login' },
      })
    })
  },
  ['sqlite'],
)

describeGates(
  'responses of the console',
  (open) => {
    it('every response has a content security policy that allows only files of the console', async () => {
      const { gate } = await open()
      const pages = await servePages(gate)
      const visitor = pages.visitor()
      for (const path of ['', '/approvals', '/tasks', '/login', '/nowhere', '/icon.svg?n=3']) {
        const { headers } = await visitor.get(path)
        expect(headers['content-security-policy'], path).toBe(
          "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        )
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
        })
      }
    })

    it('pages load two files that browsers may cache', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate, LOCKED)).visitor()
      const { text } = await visitor.get('/login')
      expect(text).not.toMatch(/<style|style=|<script>| on\w+=/)
      const files = Array.from(
        text.matchAll(/"\/console(\/[0-9a-f]{12}-console\.(?:css|js))"/g),
        ([, path = '']) => path,
      )
      expect(files).toHaveLength(2)
      for (const path of files) {
        const { status, headers } = await visitor.get(path)
        expect(status).toBe(200)
        expect(headers['cache-control']).toContain('immutable')
        expect(headers['content-type']).toMatch(/^text\/(css|javascript); charset=utf-8$/)
      }
    })

    it('/console redirects to the overview', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      expect(await visitor.get('')).toMatchObject({
        status: 303,
        headers: { location: '/console/overview' },
      })
      expect(await visitor.get('/')).toMatchObject({ status: 303 })
    })

    it('internal errors are not revealed', async () => {
      const { gate } = await open()
      const pages = await servePages(gate)
      gate.call = () => Promise.reject(new Error('the password is swordfish'))
      const answer = await pages.visitor().get('/tasks')
      expect(answer.status).toBe(500)
      expect(answer.text).not.toContain('swordfish')
      expect(pages.errors).toHaveLength(1)
    })
  },
  ['sqlite'],
)
