import { type Browser, chromium } from 'playwright-core'
import { programOf } from './debian-package.ts'

/** Chromium runs as root in containers, and must not use the network. */
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

/** The path of Chromium. Without it, the browser tests of the console are skipped. */
export function chromiumProgram(): string | undefined {
  return programOf('chromium', 'ALL TESTS OF THE CONSOLE IN A BROWSER')
}

export function launchChromium(program: string): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: FLAGS })
}
