import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { KEY, LOCKED, servePages, wordsOf } from './support.ts'

describeGates(
  'retention in the console',
  (open) => {
    it('the page shows what is stored how long, and pauses and resumes', async () => {
      const { gate } = await open({ settings: { task_retention_days: 7 } })
      const { visitor } = await servePages(gate, LOCKED)
      const maria = visitor()
      await maria.signIn(KEY)
      expect(wordsOf((await maria.get('/retention')).text)).toContain('Contents of ended tasks 7 days')
      await maria.submit('/retention', '/retention', { action: 'pause' })
      expect(wordsOf((await maria.get('/retention')).text)).toContain('State paused')
      await maria.submit('/retention', '/retention', { action: 'resume' })
      expect(wordsOf((await maria.get('/retention')).text)).toContain('State idle')
    })
  },
  ['sqlite'],
)
