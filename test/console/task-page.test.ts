import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../support/gates.ts'
import { finish, held, hold } from '../support/steps.ts'
import { servePages, wordsOf } from './support.ts'

describeGates(
  'the page of a task',
  (open) => {
    it('the page shows the newest receipts and reports first and links to all older ones', async () => {
      const { gate } = await open()
      const offer = await hold(gate)
      await Promise.all(
        Array.from({ length: 120 }, (_, n) =>
          gate.reportProgress(worker(), { ...held(offer), progress: { message: `report ${n}` } }),
        ),
      )
      await finish(gate, offer)
      const visitor = (await servePages(gate)).visitor()
      const found: string[] = []
      let path: string | undefined = `/tasks/${offer.task_id}`
      const first = wordsOf((await visitor.get(path)).text)
      expect(first).toContain('report 119')
      expect(first).not.toContain('report 60')
      while (path !== undefined) {
        const { text, status } = await visitor.get(path)
        expect(status).toBe(200)
        const seqs = Array.from(text.matchAll(/Body of receipt (\d+)/g), ([, seq = '']) => seq)
        expect(new Set(seqs).size).toBeLessThanOrEqual(50)
        found.push(...new Set(seqs))
        path = /href="\/console(\/tasks\/[^"]+)">Older receipts/.exec(text)?.[1]
      }
      const all: number[] = []
      let since_receipt_id: string | null | undefined
      do {
        const asked = { task_id: offer.task_id, limit: 200, ...(since_receipt_id && { since_receipt_id }) }
        const page = await gate.listReceipts(agent(), asked)
        all.push(...page.receipts.map(({ seq }) => seq))
        since_receipt_id = page.next_cursor
      } while (since_receipt_id !== null)
      const newestFirst = found.map(Number)
      expect(newestFirst).toEqual(newestFirst.toSorted((a, b) => b - a))
      expect(newestFirst).toEqual(expect.arrayContaining(all))
    })

    it('the page omits a payload that the browser already has', async () => {
      const { gate } = await open()
      const { task_id } = await hold(gate, { payload: { text: 'a long story' } })
      const visitor = (await servePages(gate)).visitor()
      const whole = (await visitor.get(`/tasks/${task_id}`)).text
      const version = /data-version="(\w+)"/.exec(whole)?.[1]
      expect(wordsOf(whole)).toContain('a long story')
      const again = (await visitor.get(`/tasks/${task_id}?have=${version}`)).text
      expect(wordsOf(again)).not.toContain('a long story')
      expect(again).toContain('data-live="receipts"')
      const other = (await visitor.get(`/tasks/${task_id}?have=other`)).text
      expect(wordsOf(other)).toContain('a long story')
    })
  },
  ['sqlite'],
)
