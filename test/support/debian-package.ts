import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** The programs that tests need, by the Debian package that installs them. */
const FIND = {
  chromium: () =>
    [
      '/usr/bin/chromium',
      '/usr/bin/chromium-browser',
      '/usr/bin/google-chrome',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ].find((path) => existsSync(path)),
  'dovecot-imapd': () => {
    const paths = ['/usr/sbin/dovecot', '/usr/local/sbin/dovecot', '/opt/homebrew/sbin/dovecot']
    const program = paths.find((path) => existsSync(path))
    if (program === undefined) return undefined
    // The configuration of the tests is for version 2.3.
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    return stdout.startsWith('2.3.') ? program : undefined
  },
}

type Package = keyof typeof FIND

const PACKAGES: readonly Package[] = ['chromium', 'dovecot-imapd']

/** The packages whose programs are not installed. */
export function missingPackages(): readonly Package[] {
  return PACKAGES.filter((name) => FIND[name]() === undefined)
}

/** The path of the program; undefined, with a prominent warning about the skipped tests, if it is not installed. */
export function programOf(name: Package, tests: string): string | undefined {
  const program = FIND[name]()
  if (program === undefined) {
    const line = '!'.repeat(100)
    console.warn(
      `\n${line}\n!!  ${tests} ARE SKIPPED: ${name} is not installed.\n!!  Run "npm run setup:tests", or: ${installLine([name])}\n${line}\n`,
    )
  }
  return program
}

export function installLine(names: readonly string[]): string {
  return `apt-get install -y --no-install-recommends ${names.join(' ')}`
}
