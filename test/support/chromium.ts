import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PROGRAMS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const INSTALL = 'apt-get install -y --no-install-recommends chromium'

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
  const line = '!'.repeat(100)
  const complaint = `There is no Chromium, which they need. To install it: ${INSTALL}`
  console.warn(
    `\n${line}\n!!  ALL TESTS OF THE CONSOLE IN A BROWSER ARE SKIPPED.\n!!  ${complaint}\n${line}\n`,
  )
  return undefined
}

export function launchChromium(program: string): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: FLAGS })
}

function findProgram(): string | undefined {
  return PROGRAMS.find((path) => existsSync(path))
}

function install(): string | undefined {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return undefined
  const [command = '', ...args] = INSTALL.split(' ')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // Where there is no network, nobody should wait for it.
  const patience = [
    '-o',
    'DPkg::Lock::Timeout=120',
    '-o',
    'Acquire::http::Timeout=20',
    '-o',
    'Acquire::Retries=0',
  ]
  const options = { env, timeout: 300_000 }
  spawnSync(command, [...patience, 'update', '-qq'], options)
  spawnSync(command, [...patience, ...args], options)
  return findProgram()
}
