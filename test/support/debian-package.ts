import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** The programs that tests and benchmarks need, by the Debian package that installs them. */
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
  'redis-server': () =>
    ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server'].find((path) =>
      existsSync(path),
    ),
}

type Package = keyof typeof FIND

const PACKAGES: readonly Package[] = ['chromium', 'dovecot-imapd', 'redis-server']

/** The packages that tests need and whose programs are not installed. */
export function missingPackages(): readonly Package[] {
  return PACKAGES.filter((name) => findProgram(name) === undefined)
}

export function findProgram(name: Package): string | undefined {
  return FIND[name]()
}

/** Whether this process may install packages: as root on Debian. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

export function installPackages(names: readonly Package[]): void {
  // A machine without a network should not wait long, and another process may be installing packages.
  const limits = ['DPkg::Lock::Timeout=240', 'Acquire::http::Timeout=20', 'Acquire::Retries=0']
  const settings = limits.flatMap((limit) => ['-o', limit])
  // In run level 1 the packages do not start their services.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const [command = '', ...args] = installLine(names).split(' ')
  const run = (words: readonly string[]) =>
    spawnSync(command, [...settings, ...words], { env, stdio: 'inherit', timeout: 300_000 })
  run(['update', '-qq'])
  run(args)
}

/** The path of the program; undefined, with a prominent warning about the skipped tests, if it is not installed. */
export function programOf(name: Package, tests: string): string | undefined {
  const program = findProgram(name)
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
