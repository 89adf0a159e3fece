import { expect, it } from 'vitest'
import { admin, describeGates, worker } from '../support/gates.ts'
import { askMany, held, lease } from '../support/steps.ts'
import { actionsOf, servePages, viewerOf, wordsOf } from './support.ts'

const HOSTILE = `w"><script>alert(1)</script>\u202E`

describeGates(
  'workers in the console',
  (open) => {
    it('workers show their state, leases, types and version, by state', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      const empty = await visitor.get('/workers')
      expect(wordsOf(empty.text)).toContain('No worker was seen in the last day.')
      expect(empty.text).toContain('data-copy="npx asyncgate worker --tasks echo"')

      await gate.registerWorker(worker(), {
        worker_id: 'w1',
        version: '2.4.1',
        accept_types: ['job', 'mail'],
      })
      await gate.registerWorker(worker('w2'), { worker_id: 'w2' })
      await askMany(gate, 1)
      await lease(gate, { accept_types: ['job', 'mail'] })
      expect(wordsOf((await visitor.get('/workers')).text)).toMatch(
        /w1 busy 1 job mail 2\.4\.1 0 0 .*w2 idle 0 any 0 0/,
      )
      const idle = wordsOf((await visitor.get('/workers?state=idle')).text)
      expect(idle).toContain('w2 idle')
      expect(idle).not.toContain('w1')
      const offline = wordsOf((await visitor.get('/workers?state=offline')).text)
      expect(offline).toContain('No worker is offline. Show all workers')
    })

    it('a worker shows the tasks that it holds, with links', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      await askMany(gate, 2, { summary: 'the report' })
      const offer = await lease(gate)
      await gate.startTask(worker(), held(offer))
      await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 40, message: 'reading' } })
      const { text } = await visitor.get('/workers/w1')
      expect(wordsOf(text)).toMatch(/job the report running .*40 % reading in \d+ /)
      expect(text).toContain(`href="/console/tasks/${offer.task_id}"`)
      expect(text.match(/data-row=/g)).toHaveLength(1)
      expect((await visitor.get('/workers/w9')).status).toBe(404)
    })

    it('a worker is drained, and the drain is undone', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      await gate.registerWorker(worker(), { worker_id: 'w1' })
      const isDraining = async () => (await gate.listWorkers(admin(), {})).workers[0]?.drain
      const drained = await visitor.submit('/workers/w1', '/workers/w1/drain')
      expect(wordsOf((await visitor.follow(drained)).text)).toMatch(/draining .*Draining\. The worker/)
      expect(await isDraining()).toBe(true)
      const undone = await visitor.submit('/workers/w1', '/workers/w1/drain')
      expect(wordsOf((await visitor.follow(undone)).text)).toContain('The worker receives tasks again.')
      expect(await isDraining()).toBe(false)
    })

    it('a viewer sees workers and no buttons', async () => {
      const { gate } = await open({ realTime: true })
      await gate.registerWorker(worker(), { worker_id: 'w1' })
      const viewer = await viewerOf(gate)
      for (const path of ['/workers', '/workers/w1']) {
        const page = await viewer.get(path)
        expect(wordsOf(page.text)).toContain('w1')
        expect(actionsOf(page.text)).toEqual([])
      }
    })

    it('what a worker says about itself is shown as text', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      await gate.registerWorker(worker(HOSTILE), {
        worker_id: HOSTILE,
        ...{ worker_type: HOSTILE, version: HOSTILE, capabilities: [HOSTILE], accept_types: [HOSTILE] },
        config: { [HOSTILE]: HOSTILE },
      })
      for (const path of ['/workers', `/workers/${encodeURIComponent(HOSTILE)}`]) {
        const { text, status } = await visitor.get(path)
        expect(status).toBe(200)
        expect(text).not.toContain('<script>')
        expect(text.replace(/data-row="[^"]*"/g, '')).not.toContain('\u202E')
      }
    })
  },
  ['sqlite'],
)
