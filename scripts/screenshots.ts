/**
 * Takes screenshots of the console with a seeded demo, into docs/images.
 *
 *   npm run screenshots [FOLDER]
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { GROUPS, type Section } from '../src/console/navigation.ts'
import { findPage } from '../src/console/routes.ts'
import { chromiumProgram, launchChromium } from '../test/support/chromium.ts'
import { openDemo } from './screenshots/demo-server.ts'

const DESKTOP: BrowserContextOptions = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }
const DARK: BrowserContextOptions = { ...DESKTOP, colorScheme: 'dark' }
const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  colorScheme: 'light',
  isMobile: true,
  hasTouch: true,
}

interface Shot {
  readonly name: string
  readonly options: BrowserContextOptions
  /** Below /console. */
  readonly path: string
  /** Steps before the picture is taken. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

/** Opens the first item of a list. */
const first = (prefix: string) => async (page: Page) => {
  await page.locator(`main .row a[href^="/console/${prefix}/"]`).first().click()
  await page.waitForLoadState()
}

/** Simple lists, of which the documentation needs no picture. */
const OMITTED: readonly Section[] = ['clients', 'identities', 'limits', 'retention']

const SECTIONS = GROUPS.flatMap(({ sections }) => sections).filter(
  (section) => !OMITTED.includes(section) && findPage(`/console/${section}`) !== undefined,
)

const SHOTS: readonly Shot[] = [
  ...SECTIONS.map((section) => ({ name: section, options: DESKTOP, path: `/${section}` })),
  { name: 'overview-dark', options: DARK, path: '/overview?period=day' },
  { name: 'overview-phone', options: PHONE, path: '/overview' },
  { name: 'approvals-phone', options: PHONE, path: '/approvals' },
  { name: 'approval', options: DESKTOP, path: '/approvals', prepare: first('approvals') },
  { name: 'approval-phone', options: PHONE, path: '/approvals', prepare: first('approvals') },
  { name: 'task', options: DESKTOP, path: '/tasks?status=failed', prepare: first('tasks') },
  { name: 'task-phone', options: PHONE, path: '/tasks?status=failed', prepare: first('tasks') },
  { name: 'upstream', options: DESKTOP, path: '/upstreams/tracker' },
  { name: 'sign-in', options: DESKTOP, path: '/login' },
]

async function take(browser: Browser, url: string, folder: string, shot: Shot): Promise<void> {
  const context = await browser.newContext(shot.options)
  try {
    const page = await context.newPage()
    await page.goto(`${url}/console${shot.path}`)
    await shot.prepare?.(page)
    await page.screenshot({ path: join(folder, `${shot.name}.png`) })
  } finally {
    await context.close()
  }
}

const program = chromiumProgram()
if (program === undefined) throw new Error('Chromium is required: run "npm run setup:tests".')
const folder = process.argv[2] ?? new URL('../docs/images', import.meta.url).pathname
mkdirSync(folder, { recursive: true })
const server = await openDemo()
const browser = await launchChromium(program)
try {
  for (const shot of SHOTS) await take(browser, server.url, folder, shot)
} finally {
  await browser.close()
  await server.close()
}
