import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { chromiumProgram, launchChromium } from '../support/chromium.ts'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { recordedSchedule } from '../support/schedules.ts'
import { ask, lease } from '../support/steps.ts'
import { inspect } from './inspection.ts'
import { servePages } from './support.ts'

const program = chromiumProgram()
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

const REPORT = {
  type: 'object',
  required: ['document'],
  properties: {
    document: { type: 'string', description: 'Path of the document' },
    language: { enum: ['en', 'de'] },
    draft: { type: 'boolean' },
    reader: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } },
    tags: { type: 'array', items: { type: 'string' } },
    extra: { type: 'object' },
  },
}

describe.skipIf(program === undefined)('lists of the console in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(program ?? '')
  })
  afterAll(() => browser.close())

  async function openWindow(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    return page
  }

  describeGates(
    'pages of records',
    (open) => {
      it('pages are accessible and fit a phone, in light and dark mode', async () => {
        const { gate } = await open({ realTime: true })
        await gate.registerTaskType(admin(), { type: 'report', payload_schema: REPORT })
        const { schedule_id } = await recordedSchedule(gate, { name: 'n'.repeat(90) })
        await ask(gate, {}, agent('x'.repeat(120)))
        await lease(gate, { accept_types: ['job'] })
        await gate.registerWorker(worker('w2'), { worker_id: 'w2', config: { gpu: 'y'.repeat(200) } })
        await gate.createKey(admin(), { principal: { kind: 'agent', id: 'z'.repeat(120) }, role: 'agent' })
        await gate.putIdentity(admin(), {
          ...{ email: 'ann@example.com', principal: { kind: 'human', id: 'ann' }, role: 'viewer' },
        })
        const { url } = await servePages(gate)
        const paths = [
          ...['/workers', '/workers?state=offline', '/workers/w1', '/workers/w2'],
          ...['/schedules', `/schedules/${schedule_id}`, '/types', '/types/report', '/types/report?as=json'],
          ...['/agents', '/policies', '/policies/new', '/upstreams', '/sessions'],
          ...['/keys', '/clients', '/identities', '/audit', '/limits', '/usage', '/retention'],
        ]
        for (const options of [{}, { ...PHONE, colorScheme: 'dark' }] as const) {
          const page = await openWindow(options)
          for (const path of paths) {
            await page.goto(`${url}/console${path}`)
            await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
            expect(await inspect(page), `${path} ${JSON.stringify(options)}`).toEqual([])
          }
        }
      }, 240_000)

      it('an open page shows workers and runs as they appear', async () => {
        const { gate } = await open({ realTime: true })
        await gate.registerWorker(worker(), { worker_id: 'w1' })
        const { schedule_id } = await recordedSchedule(gate)
        const { url } = await servePages(gate)
        const [workers, schedule] = [await openWindow(), await openWindow()]
        await workers.goto(`${url}/console/workers`)
        await schedule.goto(`${url}/console/schedules/${schedule_id}`)
        await gate.registerWorker(worker('w2'), { worker_id: 'w2' })
        await gate.runScheduleNow(admin(), { schedule_id, idempotency_key: 'k' })
        await workers.getByRole('link', { name: 'w2' }).waitFor()
        await schedule.getByRole('link', { name: 'tick' }).waitFor()
      }, 120_000)

      it('a task is created from a schema without script', async () => {
        const { gate } = await open({ realTime: true })
        await gate.registerTaskType(admin(), { type: 'report', payload_schema: REPORT })
        const { url } = await servePages(gate)
        const page = await openWindow({ javaScriptEnabled: false })
        await page.goto(`${url}/console/types/report`)
        await page.getByLabel('document').fill('a.pdf')
        await page.getByLabel('1', { exact: true }).fill('first')
        await page.getByRole('button', { name: 'Add another' }).click()
        await page.getByLabel('2', { exact: true }).fill('second')
        await page.getByLabel('age', { exact: true }).fill('old')
        // Enter creates the task; it does not add an item.
        await page.getByLabel('age', { exact: true }).press('Enter')
        await page.locator('.field-problem', { hasText: 'is not a number' }).waitFor()
        await page.getByLabel('age', { exact: true }).fill('7')
        await page.getByLabel('age', { exact: true }).press('Enter')
        await page.getByText('Created. The task is queued.').waitFor()
        const { tasks } = await gate.listTasks(admin(), {})
        expect(tasks.map(({ payload }) => payload)).toEqual([
          { document: 'a.pdf', reader: { age: 7 }, tags: ['first', 'second'] },
        ])
      }, 120_000)
    },
    ['sqlite'],
  )
})
