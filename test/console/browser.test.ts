import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { says } from '../gateway/calls/stub.ts'
import { openGateway, until } from '../gateway/calls/support.ts'
import { chromiumProgram, launchChromium } from '../support/chromium.ts'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { awaitingInput } from '../support/questions.ts'
import { ask, held, hold, lease, look, openTasks, statusOf } from '../support/steps.ts'
import { inspect } from './inspection.ts'
import { KEY, LOCKED, STUCK, servePages } from './support.ts'

const program = chromiumProgram()
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202E`

describe.skipIf(program === undefined)('the console in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(program ?? '')
  })
  afterAll(() => browser.close())

  /** A window, and the errors, warnings and dialogs of its pages. */
  async function openWindow(
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; problems: string[] }> {
    const context = await browser.newContext(options)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const problems: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
    })
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    return { page, problems }
  }

  async function waiting(gate: Gate, payload: object = { amount: 250 }): Promise<string> {
    await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
    return (await ask(gate, { type: 'pay', payload })).task_id
  }

  describeGates(
    'pages of the console',
    (open) => {
      it('an approval takes two taps on a phone', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate)
        const { url } = await servePages(gate)
        const { page, problems } = await openWindow(PHONE)
        await page.goto(`${url}/console/approvals`)
        expect(await page.title()).toBe('(1) Approvals · AsyncGate')
        await page.getByRole('link', { name: 'pay' }).tap()
        await page.getByRole('button', { name: 'Approve' }).tap()
        await page.getByText('Approved. The task is queued.').waitFor()
        await page.reload()
        await page.getByRole('heading', { name: 'approved', exact: true }).waitFor()
        expect(await page.getByText('The task is queued.').count()).toBe(0)
        expect(await statusOf(gate, { task_id })).toBe('queued')
        expect(problems).toEqual([])
      })

      it('the complete approval is visible on a phone', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate, { to: 'acme', amount: 99_000, lines: Array(40).fill('a line') })
        const { url } = await servePages(gate)
        const { page } = await openWindow(PHONE)
        await page.goto(`${url}/console/approvals/${task_id}`)
        const payload = await page.locator('.full').boundingBox()
        const bar = await page.locator('.decide').boundingBox()
        if (payload === null || bar === null) throw new Error('there is no payload, or no way to decide')
        expect(bar.y).toBeGreaterThanOrEqual(payload.y + payload.height)
        await page.getByRole('button', { name: 'Approve' }).tap()
        await page.getByText('Approved. The task is queued.').waitFor()
      })

      it('the page can be reloaded after an answer was refused', async () => {
        const { gate } = await open({ realTime: true })
        const offer = await hold(gate)
        const request = { message: 'Who?', schema: { type: 'object' } }
        await gate.ask(worker(), { ...held(offer), kind: 'input', request })
        const { url } = await servePages(gate)
        const { page } = await openWindow(PHONE)
        const address = `${url}/console/tasks/${offer.task_id}`
        await page.goto(address)
        await page.getByLabel('Answer, as JSON').fill('ann')
        await page.getByRole('button', { name: 'Answer' }).tap()
        await page.getByText('is not valid JSON').waitFor()
        expect(page.url()).toBe(address)
        expect((await page.reload())?.status()).toBe(200)
      })

      it.each([
        ['Decline', 'decline', 'Declined.', false],
        ['Dismiss', 'cancel', 'Dismissed.', false],
        // The page shows the end of the call in place of the notice.
        ['Decline', 'decline', 'succeeded', true],
        ['Dismiss', 'cancel', 'succeeded', true],
      ])('%s sends %s to the upstream without an answer and shows %s, with scripts: %s', async (...row) => {
        const [button, action, shown, javaScriptEnabled] = row
        const schema = { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] }
        const elicitation = { message: 'Which size?', schema }
        const gateway = await openGateway(open, {
          tools: {
            order: {
              run: async (_, { elicit, signal = new AbortController().signal }) =>
                says(JSON.stringify(await elicit?.(elicitation, signal))),
            },
          },
        })
        const task_id = await gateway.call('order')
        await until(async () => (await statusOf(gateway.gate, { task_id })) === 'input_required')
        const { url } = await servePages(gateway.gate)
        const { page, problems } = await openWindow({ javaScriptEnabled })
        await page.goto(`${url}/console/tasks/${task_id}`)
        // The answer is required for Answer only.
        await page.getByLabel('Answer, as JSON').fill('')
        await page.getByRole('button', { name: 'Answer', exact: true }).click()
        expect(await statusOf(gateway.gate, { task_id })).toBe('input_required')
        await page.getByRole('button', { name: button }).click()
        await page.getByText(shown).first().waitFor()
        expect(await gateway.ended(task_id)).toMatchObject({
          status: 'succeeded',
          result: { result: says(JSON.stringify({ action })) },
        })
        expect(problems).toEqual([])
      })

      it('a question of a worker cannot be declined or dismissed', async () => {
        const { gate } = await open({ realTime: true })
        const { task_id } = await awaitingInput(gate)
        const { url } = await servePages(gate)
        const { page } = await openWindow()
        await page.goto(`${url}/console/tasks/${task_id}`)
        await page.getByRole('button', { name: 'Answer', exact: true }).waitFor()
        expect(await page.getByRole('button', { name: /Decline|Dismiss/ }).count()).toBe(0)
      })

      it('sign-in, decision and sign-out work without JavaScript', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate)
        const { url } = await servePages(gate, LOCKED)
        const { page } = await openWindow({ javaScriptEnabled: false })
        await page.goto(`${url}/console/approvals/${task_id}`)
        await page.getByLabel('Your key').fill(KEY)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByText('Comment, edit, remember').click()
        await page.getByLabel('Payload', { exact: true }).last().fill('{"amount": 99}')
        await page.getByRole('button', { name: 'Approve' }).click()
        await page.getByText('Changes made on approval').waitFor()
        expect((await lease(gate)).payload).toEqual({ amount: 99 })
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByText('You are signed out.').waitFor()
      })

      it('a signed-in person is recognized after following a link from another site', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate)
        const { url } = await servePages(gate, LOCKED)
        const { page } = await openWindow()
        const otherSite = 'http://chat.example/'
        const link = `<a href="${url}/console/approvals/${task_id}?n=1">Look</a>`
        await page.route(otherSite, (route) => route.fulfill({ contentType: 'text/html', body: link }))
        await page.goto(otherSite)
        await page.getByText('Look').click()
        await page.getByLabel('Your key').fill(KEY)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByRole('heading', { name: 'pay', exact: true }).waitFor()
        await page.goto(otherSite)
        await page.getByText('Look').click()
        await page.getByRole('heading', { name: 'pay', exact: true }).waitFor()
        expect(page.url()).toBe(`${url}/console/approvals/${task_id}?n=1`)
      })

      it('new approvals appear without a reload and move nothing under the pointer', async () => {
        const { gate } = await open({ realTime: true })
        const { url } = await servePages(gate)
        const { page, problems } = await openWindow()
        await page.goto(`${url}/console/approvals`)
        await page.getByText('No approvals are waiting.').waitFor()
        await waiting(gate, { first: 1 })
        await page.getByText('{"first":1}').waitFor()
        expect(await page.title()).toBe('(1) Approvals · AsyncGate')

        await page.getByText('{"first":1}').hover()
        await waiting(gate, { second: 2 })
        await page.getByRole('link', { name: 'Changed. Show' }).waitFor()
        expect(await page.getByText('{"second":2}').count()).toBe(0)
        await page.getByRole('heading', { name: 'Approvals' }).hover()
        await page.getByText('{"second":2}').waitFor()
        expect(await page.getByRole('link', { name: 'Changed. Show' }).count()).toBe(0)
        expect(problems).toEqual([])
      })

      it('the content of a field is kept while the page updates', async () => {
        const { gate } = await open({ realTime: true })
        const task_id = await waiting(gate)
        const { url } = await servePages(gate)
        const { page } = await openWindow()
        await page.goto(`${url}/console/approvals/${task_id}`)
        await page.getByLabel('Reason to deny').fill('because')
        await gate.approve(admin(), { task_id })
        await page.getByRole('heading', { name: 'approved' }).waitFor()
        expect(await page.getByLabel('Reason to deny').inputValue()).toBe('because')
        await page.getByRole('button', { name: 'Deny' }).click()
        await page.getByText('Nothing was changed.').waitFor()
      })

      it('the page of a task updates on progress, cancellation and stop', async () => {
        const { gate } = await open({ realTime: true })
        const offer = await hold(gate)
        const { url } = await servePages(gate)
        const { page, problems } = await openWindow()
        await page.goto(`${url}/console/tasks/${offer.task_id}`)
        await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 40, message: 'Reading' } })
        await page.getByRole('progressbar').waitFor()
        expect(await page.getByRole('progressbar').getAttribute('value')).toBe('40')
        await page.getByRole('button', { name: 'Cancel task' }).click()
        await page.getByText('the worker has not acknowledged it yet').waitFor()
        await gate.reportCancel(worker(), { ...held(offer), stage: 'acknowledged' })
        await page.getByText('the worker has not acknowledged it yet').waitFor({ state: 'detached' })
        await gate.reportCancel(worker(), { ...held(offer), stage: 'stopped' })
        await page.getByText('the worker has not stopped yet').waitFor({ state: 'detached' })
        expect(problems).toEqual([])
      })

      it('the console can be used with the keyboard alone', async () => {
        const { gate } = await open({ realTime: true })
        const first = await waiting(gate)
        const second = await waiting(gate)
        const { url } = await servePages(gate)
        const { page } = await openWindow()
        await page.goto(`${url}/console/approvals`)
        await page.keyboard.press('?')
        await page.getByRole('dialog', { name: 'Keys' }).waitFor()
        await page.keyboard.press('Escape')
        await page.keyboard.press('j')
        await page.keyboard.press('j')
        await page.keyboard.press('Enter')
        await page.waitForURL(`**/${second}`)
        await page.keyboard.press('a')
        await page.keyboard.press('Enter')
        await page.getByText('Approved. The task').waitFor()
        await page.goto(`${url}/console/approvals`)
        await page.keyboard.press('j')
        await page.keyboard.press('Enter')
        await page.waitForURL(`**/${first}`)
        await page.keyboard.press('d')
        await page.keyboard.type('no')
        await page.keyboard.press('Enter')
        await page.getByText('Denied. The task is canceled.').waitFor()
        expect(await statusOf(gate, { task_id: second })).toBe('queued')
      })

      it('the selected tasks are canceled, and all matching ones after a confirmation', async () => {
        const { gate } = await open({ realTime: true })
        for (let i = 0; i < 3; i++) await ask(gate, { summary: `number ${i}` })
        const { url } = await servePages(gate)
        const { page } = await openWindow()
        await page.goto(`${url}/console/tasks`)
        const button = page.getByRole('button', { name: 'Cancel', exact: true })
        expect(await button.isVisible()).toBe(false)
        await page.getByRole('checkbox').first().check()
        await page.getByText('1 selected').waitFor()
        await page.reload()
        expect(await page.getByRole('checkbox').first().isChecked()).toBe(true)
        await button.click()
        await page.getByText('Canceled 1 task.').waitFor()
        await page.getByRole('combobox', { name: 'Search tasks' }).fill('status:queued')
        await page.keyboard.press('Enter')
        await page.getByRole('checkbox').first().check()
        await page.getByRole('link', { name: 'Select all 2 matching' }).click()
        await page.getByRole('link', { name: 'Cancel the open ones…' }).click()
        await page.getByRole('button', { name: 'Cancel 2 open tasks' }).click()
        await page.getByText('Canceled 2 tasks.').waitFor()
        expect(await openTasks(gate)).toEqual([])
      })

      it('every page is accessible, light and dark, wide and narrow', async () => {
        const gateway = await openGateway(open, {
          tools: { slow: STUCK },
          policy: { defaults: { upstream: 'ALLOW' } },
        })
        const { gate } = gateway
        await gateway.call('slow')
        const approval = await waiting(gate, { note: HOSTILE, list: ['x'.repeat(300)] })
        const decided = await waiting(gate)
        await gate.approve(admin(), { task_id: decided, payload: { amount: 9 }, comment: HOSTILE })
        const input = { summary: HOSTILE, labels: { team: HOSTILE }, payload: { [HOSTILE]: HOSTILE } }
        await ask(gate, { ...input, type: 'a' }, agent('x'.repeat(120)))
        const asking = await lease(gate, { accept_types: ['a'] })
        const request = { message: HOSTILE, schema: { type: 'string', enum: [HOSTILE] } }
        await gate.ask(worker(), { ...held(asking), kind: 'input', request })
        const canceled = await hold(gate, { ...input, type: 'b' }, { accept_types: ['b'] })
        await gate.reportProgress(worker(), { ...held(canceled), progress: { percent: 5, message: HOSTILE } })
        await gate.cancelTask(admin(), { task_id: canceled.task_id, reason: HOSTILE })
        await gate.putPolicy(admin(), {
          id: 'off',
          action: 'BLOCK',
          enabled: false,
          description: 'x y'.repeat(90),
        })
        await gate.putPolicy(admin(), {
          id: 'redact',
          action: 'REDACT',
          redact: { targets: 'both', patterns: ['card'] },
          scope: { type: 'pay' },
          priority: 9,
        })
        const { url } = await servePages(gate)
        const paths = [
          '/login',
          '/approvals',
          '/approvals?state=all',
          `/approvals/${approval}`,
          `/approvals/${decided}`,
          '/tasks',
          '/tasks?q=type:none',
          '/tasks?q=nothing:x',
          '/tasks?select=all',
          '/tasks/bulk-operations',
          `/tasks/${asking.task_id}`,
          `/tasks/${canceled.task_id}`,
          '/tasks/bulk?action=cancel&q=type:pay',
          '/receipts',
          `/receipts?task_id=${canceled.task_id}`,
          '/receipts/obligations?to=agent:alice',
          '/sessions',
          '/upstreams',
          '/policies',
          '/policies/new',
          '/policies/rules/off',
          '/nowhere',
        ]
        for (const options of [
          {},
          { ...PHONE },
          { colorScheme: 'dark' },
          { ...PHONE, colorScheme: 'dark' },
        ] as const) {
          const { page, problems } = await openWindow(options)
          for (const path of paths) {
            await page.goto(`${url}/console${path}`)
            await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
            expect(await inspect(page), `${path} ${JSON.stringify(options)}`).toEqual([])
          }
          expect(problems.filter((text) => !/40[04]/.test(text))).toEqual([])
        }
      }, 120_000)
    },
    ['sqlite'],
  )

  describeGates(
    'open pages',
    (open) => {
      it('an open page does not prevent the server from closing', async () => {
        const { gate } = await open({ realTime: true })
        const { task_id } = await ask(gate)
        const { url } = await servePages(gate)
        const { page } = await openWindow()
        const connected = page.waitForResponse((response) => response.url().includes('/console/events'))
        await page.goto(`${url}/console/tasks/${task_id}`)
        await connected
        await gate.close()
        expect(await look(gate, { task_id }).catch(() => 'closed')).toBe('closed')
      })
    },
    ['sqlite'],
  )
})
