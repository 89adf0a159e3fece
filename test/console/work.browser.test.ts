import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { chromiumProgram, launchChromium } from '../support/chromium.ts'
import { admin, describeGates, worker } from '../support/gates.ts'
import { ARTIFACTS, ask, askMany, failTask, held, hold, openTasks, statusOf } from '../support/steps.ts'
import { KEY, KEY_OF_PEDRO, LOCKED, servePages } from './support.ts'

const program = chromiumProgram()
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

describe.skipIf(program === undefined)('tasks and approvals in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(program ?? '')
  })
  afterAll(() => browser.close())

  async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    return page
  }

  async function waiting(gate: Gate, payload: object = { amount: 250 }): Promise<string> {
    await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
    return (await ask(gate, { type: 'pay', payload })).task_id
  }

  describeGates(
    'work of operators',
    (open) => {
      it('the payload and the button that approves it are on the first screen of a phone', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate, { amount: 99_000, to: 'acme' })
        const { url } = await servePages(gate)
        const page = await openPage(PHONE)
        await page.goto(`${url}/console/approvals`)
        const boxes = [
          page.getByText('"amount":99000'),
          page.getByRole('button', { name: 'Approve' }).first(),
        ]
        for (const part of boxes) {
          const box = await part.boundingBox()
          expect((box?.y ?? 999) + (box?.height ?? 0)).toBeLessThan(844)
        }
        await page.getByRole('button', { name: 'Approve' }).first().tap()
        await page.getByText('Approved 1 task.').waitFor()
        expect(await statusOf(gate, { task_id })).toBe('queued')
      })

      it('tasks are read, and approvals decided from the list, without script', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate)
        const page = await openPage({ javaScriptEnabled: false })
        const { url } = await servePages(gate)
        await page.goto(`${url}/console/approvals`)
        await page.getByText('Deny…').click()
        await page.getByLabel('Reason to deny').first().fill('not today')
        await page.getByRole('button', { name: 'Deny', exact: true }).click()
        await page.getByText('Denied 1 task.').waitFor()
        expect(await statusOf(gate, { task_id })).toBe('canceled')
        await page.goto(`${url}/console/tasks?q=type:pay`)
        await page.getByRole('checkbox').first().check()
        await page.getByRole('button', { name: 'Retry' }).click()
        await page.getByText('Retried 1 task.').waitFor()
        await page.getByRole('link', { name: 'pay' }).last().click()
        await page.getByText('not today').first().waitFor()
      })

      it('a task is searched for, canceled and retried with the keyboard alone', async () => {
        const { gate } = await open({ realTime: true })
        await ask(gate, { type: 'other' })
        const { task_id } = await ask(gate, { type: 'mail' })
        const { url } = await servePages(gate)
        const page = await openPage()
        await page.goto(`${url}/console/tasks`)
        await page.keyboard.press('/')
        await page.keyboard.type('type:mail')
        await page.keyboard.press('Enter')
        await page.waitForURL('**/tasks?q=type%3Amail')
        await page.keyboard.press('j')
        await page.keyboard.press('c')
        await page.keyboard.press('Enter')
        await page.getByText('Canceled 1 task.').waitFor()
        expect(await statusOf(gate, { task_id })).toBe('canceled')
        await page.goto(`${url}/console/tasks/${task_id}`)
        await page.keyboard.press('r')
        await page.keyboard.press('Enter')
        await page.getByText('This is the new task').waitFor()
        expect(await openTasks(gate)).toHaveLength(2)
      })

      it('two people decide at once, and the second one sees who was first', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate)
        const { url } = await servePages(gate, LOCKED)
        const pages = await Promise.all(
          [KEY, KEY_OF_PEDRO].map(async (key) => {
            const page = await openPage({ javaScriptEnabled: false })
            await page.goto(`${url}/console/approvals/${task_id}`)
            await page.getByLabel('Your key').fill(key)
            await page.getByRole('button', { name: 'Sign in' }).click()
            await page.getByRole('button', { name: 'Approve' }).waitFor()
            return page
          }),
        )
        await Promise.all(pages.map((page) => page.getByRole('button', { name: 'Approve' }).click()))
        await Promise.all(
          pages.map((page) => page.getByRole('heading', { name: 'approved', exact: true }).waitFor()),
        )
        const notices = await Promise.all(pages.map((page) => page.getByRole('status').first().textContent()))
        const { decided_by } = await gate.getApproval(admin(), { task_id })
        expect(notices.filter((text) => text?.startsWith('Approved.'))).toHaveLength(1)
        expect(notices.find((text) => text?.includes('Nothing was changed.'))).toContain(decided_by?.id)
      })

      it('an open list follows while 1,000 tasks run, and does not move under the pointer', async () => {
        const { gate } = await open({ realTime: true })
        await askMany(gate, 1000)
        const { url } = await servePages(gate)
        const page = await openPage()
        await page.goto(`${url}/console/tasks`)
        const tally = (name: string) => page.getByLabel('Tasks by status').getByText(name)
        await tally('queued 1,000').waitFor()
        const first = page.locator('tr[data-row]').first()
        await first.hover()
        const key = await first.getAttribute('data-row')
        await ask(gate, { type: 'newer' })
        while (true) {
          const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', max_tasks: 100 })
          if (tasks.length === 0) break
          const items = tasks.map((task) => ({ ...held(task), result: 1, artifacts: ARTIFACTS }))
          await gate.completeMany(worker(), { items })
        }
        await tally('succeeded 1,001').waitFor()
        expect(await first.getAttribute('data-row')).toBe(key)
        await page.getByRole('heading', { name: 'Tasks' }).hover()
        await page.getByRole('link', { name: 'newer' }).waitFor()
      }, 60_000)

      it('hostile text and a payload of 1 MB are shown inert', async () => {
        const { gate } = await open({ realTime: true, settings: { max_payload_bytes: 2_000_000 } })
        const tag = `<img src=x onerror="document.title='broken'">\u202E\u001B[31m`
        const offer = await hold(gate, { summary: tag, payload: { tag, text: 'y'.repeat(1_000_000) } })
        await gate.appendLogs(worker(), { ...held(offer), lines: [{ level: 'error', text: tag }] })
        await failTask(gate, offer, {
          retryable: false,
          error: { code: tag, message: `${tag}\n${tag}`, stack: tag },
        })
        const { url } = await servePages(gate)
        const page = await openPage()
        for (const path of [`/tasks/${offer.task_id}`, '/tasks', `/receipts?task_id=${offer.task_id}`]) {
          await page.goto(`${url}/console${path}`)
          expect(await page.locator('main img').count(), path).toBe(0)
          expect(await page.title(), path).not.toContain('broken')
          const text = (await page.locator('main').textContent()) ?? ''
          for (const hidden of ['\u202E', '\u001B']) expect(text.includes(hidden), path).toBe(false)
        }
      }, 60_000)
    },
    ['sqlite'],
  )
})
