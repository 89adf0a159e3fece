import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../support/gates.ts'
import { ask, failTask, finish, held, hold, lease } from '../support/steps.ts'
import { servePages, wordsOf } from './support.ts'

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC'

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
      expect(first).not.toContain('report 90')
      while (path !== undefined) {
        const { text, status } = await visitor.get(path)
        expect(status).toBe(200)
        const seqs = Array.from(text.matchAll(/<li data-row="(\d+)"/g), ([, seq = '']) => seq)
        expect(seqs.length).toBeLessThanOrEqual(20)
        found.push(...seqs)
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

    it('every attempt is shown with its worker, duration and error', async () => {
      const { gate, clock } = await open()
      const task = await ask(gate, { max_attempts: 3, retry_backoff_seconds: 0 })
      for (const n of [1, 2]) {
        const offer = await lease(gate)
        await gate.startTask(worker(), held(offer))
        clock.advance(n)
        await failTask(gate, offer, {
          retryable: true,
          retry_after_seconds: 0,
          error: { message: `no luck ${n}` },
        })
      }
      const last = await lease(gate)
      clock.advance(61)
      await failTask(gate, last, {
        retryable: false,
        error: { code: 'GONE', message: 'first\nsecond', stack: 'at x' },
      })
      const { text } = await (await servePages(gate)).visitor().get(`/tasks/${task.task_id}`)
      const words = wordsOf(text)
      for (const part of ['no luck 1', 'no luck 2', '1 s', '2 s', '1 min 1 s']) expect(words).toContain(part)
      // Line breaks of an error are shown as such, not as an escape.
      expect(text).toContain('first\nsecond')
      expect(text).not.toContain('first\\nsecond')
      expect(text).toContain('aria-label="The task is failed."')
    })

    it('the page links to the parent, the children, the original and the retry of a task', async () => {
      const { gate } = await open()
      const parent = await ask(gate)
      const child = await ask(gate, { parent_task_id: parent.task_id, type: 'child' })
      await gate.cancelTask(agent(), { task_id: child.task_id })
      const again = await gate.retryTask(agent(), { task_id: child.task_id })
      const visitor = (await servePages(gate)).visitor()
      const linksOf = async (id: string) => (await visitor.get(`/tasks/${id}`)).text
      expect(await linksOf(parent.task_id)).toContain(`href="/console/tasks/${child.task_id}">child</a>`)
      expect(await linksOf(child.task_id)).toContain(`href="/console/tasks/${parent.task_id}"`)
      expect(await linksOf(child.task_id)).toContain(`href="/console/tasks/${again.task_id}"`)
      expect(await linksOf(again.task_id)).toContain(`href="/console/tasks/${child.task_id}"`)
    })

    it('a task is retried with another payload, and a mistake in it keeps what was typed', async () => {
      const { gate } = await open()
      const offer = await hold(gate, { payload: { n: 1 } })
      await failTask(gate, offer, { retryable: false })
      const visitor = (await servePages(gate)).visitor()
      const path = `/tasks/${offer.task_id}`
      const refused = await visitor.submit(path, `${path}/retry`, { payload: '{"n": 2' })
      expect(refused.status).toBe(400)
      expect(refused.text).toContain('{&quot;n&quot;: 2</textarea>')
      const done = await visitor.submit(path, `${path}/retry`, { payload: '{"n": 2}' })
      expect(wordsOf((await visitor.follow(done)).text)).toContain('{ "n": 2 }')
      expect((await lease(gate)).payload).toEqual({ n: 2 })
    })

    it('values are downloaded as they are stored, and run nothing', async () => {
      const { gate } = await open()
      const offer = await hold(gate, { payload: { html: '<script>alert(1)</script>', n: 9007199254740991 } })
      await finish(gate, offer, { result: '<b>bold</b>' })
      const visitor = (await servePages(gate)).visitor()
      const raw = await visitor.get(`/tasks/${offer.task_id}/payload`)
      expect(raw.text).toBe('{"html":"<script>alert(1)</script>","n":9007199254740991}')
      expect(raw.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      })
      const saved = await visitor.get(`/tasks/${offer.task_id}/result?download=1`)
      expect(saved.text).toBe('<b>bold</b>')
      expect(saved.headers['content-disposition']).toMatch(/^attachment; filename="result-[0-9a-f]{8}.txt"$/)
    })

    it('only images that browsers cannot run are shown', async () => {
      const { gate } = await open()
      const offer = await hold(gate)
      const image = (data: string) => ({ type: 'image', mimeType: 'image/png', data })
      const svg = Buffer.from('<svg onload="alert(1)"/>').toString('base64')
      await finish(gate, offer, { result: { content: [image(svg), image(PNG)] } })
      const visitor = (await servePages(gate)).visitor()
      const { text } = await visitor.get(`/tasks/${offer.task_id}`)
      expect(text.match(/<img /g)).toHaveLength(1)
      const shown = await visitor.get(`/tasks/${offer.task_id}/result?image=0`)
      expect(shown.headers['content-type']).toBe('image/png')
      expect((await visitor.get(`/tasks/${offer.task_id}/result?image=1`)).status).toBe(404)
    })

    it('log lines are shown as text, with a link to later ones', async () => {
      const { gate } = await open()
      const offer = await hold(gate)
      for (const from of [0, 60]) {
        const lines = Array.from({ length: 60 }, (_, n) => ({
          level: 'warn',
          text: `<b>line ${from + n}</b>`,
        }))
        await gate.appendLogs(worker(), { ...held(offer), lines })
      }
      const visitor = (await servePages(gate)).visitor()
      const { text } = await visitor.get(`/tasks/${offer.task_id}`)
      expect(text).toContain('&lt;b&gt;line 99&lt;/b&gt;')
      const later = /href="\/console(\/tasks\/[^"]+)">Later lines/.exec(text)?.[1] ?? ''
      expect(wordsOf((await visitor.get(later)).text)).toContain('<b>line 119</b>')
    })
  },
  ['sqlite'],
)
