import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { installPackage, skippedLoudly } from './debian-package.ts'

const PROGRAMS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const PACKAGE = 'chromium'

/** It runs as root in containers, and talks to nobody but us. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let found: string | false | undefined

/** The program, installed if need be and if we may. Without it the tests that need it are skipped, loudly. */
export function chromiumProgram(): string | undefined {
  found ??= findProgram() ?? install() ?? false
  if (found !== false) return found
  skippedLoudly('ALL TESTS OF THE CONSOLE IN A BROWSER', 'There is no Chromium, which they need.', PACKAGE)
  return undefined
}

export function launchChromium(program: string): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: FLAGS })
}

function findProgram(): string | undefined {
  return PROGRAMS.find((path) => existsSync(path))
}

function install(): string | undefined {
  installPackage(PACKAGE)
  return findProgram()
}
