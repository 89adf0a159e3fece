import { expect, it } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { KEY, LOCKED, servePages, wordsOf } from './support.ts'

const HOSTILE = '"><script>alert(1)</script>'

describeGates(
  'the audit log in the console',
  (open) => {
    async function prepare() {
      const { gate } = await open()
      const { visitor } = await servePages(gate, LOCKED)
      const maria = visitor({ 'user-agent': HOSTILE })
      await maria.signIn(KEY)
      return { gate, maria, visitor }
    }

    it('sign-ins and refused sign-ins are recorded', async () => {
      const { gate, visitor } = await prepare()
      await visitor().post('/login', { key: 'wrong' })
      expect((await gate.listAudit(admin(), {})).events).toMatchObject([
        { event: 'console_sign_in_failure', severity: 'warning', ip: '127.0.0.1', principal: null },
        {
          event: 'console_sign_in',
          principal: 'human:maria',
          user_agent: HOSTILE,
          request_id: expect.any(String),
        },
      ])
    })

    it('a change in the console is recorded with the person and the request', async () => {
      const { gate, maria } = await prepare()
      await maria.submit('/policies/new', '/policies/new', {
        rule: JSON.stringify({ id: 'a', action: 'BLOCK', scope: { type: 'x' } }),
      })
      expect((await gate.listAudit(admin(), { event: 'admin_action' })).events).toMatchObject([
        { principal: 'human:maria', subject: 'a', ip: '127.0.0.1', request_id: expect.any(String) },
      ])
    })

    it('the page shows events, filters them and shows more', async () => {
      const { gate, maria } = await prepare()
      for (let i = 0; i < 60; i++) {
        gate.audit.record({
          event: 'admin_action',
          tenant: 'default',
          principal: 'human:ann',
          subject: `rule-${i}-`,
        })
      }
      const page = (await maria.get('/audit')).text
      expect(page).not.toContain('<script>alert')
      expect(wordsOf(page)).toContain('rule-59-')
      expect(wordsOf(page)).not.toContain('rule-1-')
      const older = /href="\/console(\/audit\?cursor=[^"]+)"/.exec(page)?.[1] ?? ''
      expect(wordsOf((await maria.get(older)).text)).toContain('rule-1-')
      const filtered = wordsOf((await maria.get('/audit?event=console_sign_in&principal=human%3Amaria')).text)
      expect(filtered).toContain('human:maria')
      expect(filtered).not.toContain('rule-')
      const day = wordsOf((await maria.get('/audit?from=2020-01-01T00%3A00&to=2020-01-02T00%3A00')).text)
      expect(day).toContain('No event matches.')
    })

    it('a filter that is not valid is shown again with the reason', async () => {
      const { maria } = await prepare()
      const page = await maria.get('/audit?from=yesterday')
      expect(page.status).toBe(400)
      expect(wordsOf(page.text)).toContain('VALIDATION_ERROR')
      expect(page.text).toContain('value="yesterday"')
    })

    it('only admins see the page', async () => {
      const { gate, visitor } = await prepare()
      const { key } = await gate.createKey(admin(), {
        principal: { kind: 'human', id: 'vic' },
        role: 'viewer',
      })
      const vic = visitor()
      await vic.signIn(key)
      expect((await vic.get('/audit')).status).toBe(403)
    })
  },
  ['sqlite'],
)
