import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDemo } from '../../scripts/screenshots/demo-server.ts'
import { GROUPS } from '../../src/console/navigation.ts'
import { findPage } from '../../src/console/routes.ts'
import type { OpenServer } from '../../src/server/open-server.ts'
import { chromiumProgram, launchChromium } from '../support/chromium.ts'

const program = chromiumProgram()

type Found = Pick<AxeResults['violations'][number], 'id' | 'nodes'>

const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
const WINDOWS: readonly BrowserContextOptions[] = [
  { viewport: DESKTOP },
  { viewport: PHONE, isMobile: true, hasTouch: true },
]

/** The pages of the navigation, and one page of each kind that they link to. */
const LISTS = GROUPS.flatMap(({ sections }) => sections).filter(
  (section) => findPage(`/console/${section}`) !== undefined,
)
const ITEMS = [
  'approvals',
  'tasks',
  'workers',
  'upstreams',
  'schedules',
  'types',
  'agents',
  'sessions',
] as const
const OTHERS = ['/overview?period=day', '/tasks?status=failed', '/find?q=none', '/login', '/nothing']

describe.skipIf(program === undefined)('accessibility of the console', () => {
  let browser: Browser
  let server: OpenServer
  beforeAll(async () => {
    browser = await launchChromium(program ?? '')
    server = await openDemo()
  }, 120_000)
  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  /** What axe finds on a page, as texts. Only the contrast depends on the theme. */
  async function violations(page: Page): Promise<string[]> {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.evaluate(axe.source)
    const light = await page.evaluate<Found[]>(
      'axe.run({ resultTypes: ["violations"] }).then((found) => found.violations)',
    )
    await page.emulateMedia({ colorScheme: 'dark' })
    const dark = await page.evaluate<Found[]>(
      'axe.run({ runOnly: ["color-contrast"] }).then((found) => found.violations)',
    )
    const { pathname } = new URL(page.url())
    return [...light, ...dark].map(
      ({ id, nodes }) => `${pathname}: ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
    )
  }

  /** The first link from a list to one of its items. */
  async function itemOf(page: Page, list: string): Promise<string | undefined> {
    await page.goto(`${server.url}/console/${list}`)
    const links = page.locator(`main :is(.row, .card, td, th) a[href^="/console/${list}/"]`)
    return (await links.count()) === 0 ? undefined : ((await links.first().getAttribute('href')) ?? undefined)
  }

  it('axe finds no violation on any page, in both themes, on a desktop and on a phone', async () => {
    const first = await browser.newPage()
    const items: string[] = []
    for (const list of ITEMS) {
      if (!LISTS.some((section) => section === list)) continue
      const item = await itemOf(first, list)
      if (item !== undefined) items.push(item)
    }
    await first.close()
    expect(items.length).toBeGreaterThan(3)
    const found: string[] = []
    for (const options of WINDOWS) {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const paths = [
        ...LISTS.map((section) => `/console/${section}`),
        ...items,
        ...OTHERS.map((path) => `/console${path}`),
      ]
      for (const path of paths) {
        await page.goto(server.url + path)
        found.push(...(await violations(page)))
        const width = await page.evaluate<number>('document.documentElement.scrollWidth')
        if (width > (options.viewport?.width ?? 0)) found.push(`${path}: is ${width} wide`)
      }
      await context.close()
    }
    expect([...new Set(found)]).toEqual([])
  }, 400_000)

  it('the palette, the list of keys and the navigation of a phone have no violation', async () => {
    const context = await browser.newContext(WINDOWS[0])
    const page = await context.newPage()
    await page.goto(`${server.url}/console/overview`)
    await page.keyboard.press('Control+k')
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await violations(page)).toEqual([])
    await context.close()
    const phone = await browser.newContext(WINDOWS[1])
    const small = await phone.newPage()
    await small.goto(`${server.url}/console/overview`)
    await small.getByRole('button', { name: 'Menu' }).tap()
    await small.getByRole('link', { name: 'Tasks' }).waitFor()
    expect(await violations(small)).toEqual([])
    await phone.close()
  }, 60_000)
})
