import { expect, it } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { askMany } from '../support/steps.ts'
import { KEY, LOCKED, servePages, wordsOf } from './support.ts'

describeGates(
  'usage in the console',
  (open) => {
    async function prepare() {
      const { gate } = await open()
      const { visitor } = await servePages(gate, LOCKED)
      const maria = visitor()
      await maria.signIn(KEY)
      return { gate, maria, visitor }
    }

    it('the page shows the totals and the rows of a period', async () => {
      const { gate, maria } = await prepare()
      await askMany(gate, 1_234)
      const page = await maria.get('/usage')
      expect(page.status).toBe(200)
      const today = new Date().toISOString().slice(0, 10)
      expect(wordsOf(page.text)).toMatch(/Tasks 1,234/)
      expect(wordsOf(page.text)).toContain(`${today} 00:00:00 UTC 1,234 0`)
      const past = wordsOf((await maria.get('/usage?from=2020-01-01&to=2020-01-02&granularity=hour')).text)
      expect(past).toContain('Nothing was used in this period.')
      expect(past).toContain('2020-01-01 00:00:00 UTC to 2020-01-02 00:00:00 UTC')
    })

    it('a period that is not valid is shown again with the reason', async () => {
      const { maria } = await prepare()
      const page = await maria.get('/usage?from=%22yesterday%22')
      expect(page.status).toBe(400)
      expect(wordsOf(page.text)).toContain('VALIDATION_ERROR')
      expect(page.text).toContain('value="&quot;yesterday&quot;"')
    })

    it('only admins see the page', async () => {
      const { gate, visitor } = await prepare()
      const { key } = await gate.createKey(admin(), {
        principal: { kind: 'human', id: 'vic' },
        role: 'viewer',
      })
      const vic = visitor()
      await vic.signIn(key)
      expect((await vic.get('/usage')).status).toBe(403)
    })
  },
  ['sqlite'],
)
