import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { installLine, missingPackages } from '../test/support/debian-package.ts'

/** Installs the Debian packages that tests need, or prints how to install them. It fails only if an installation fails. */
const missing = missingPackages()
if (missing.length === 0) console.log('Everything that the tests need is installed.')
else if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
  console.warn(`The tests that need ${missing.join(' and ')} will be skipped. On Debian, as root, run:`)
  console.warn(`  ${installLine(missing)}`)
} else {
  // A machine without a network should not wait long, and another process may be installing packages.
  const limits = ['DPkg::Lock::Timeout=240', 'Acquire::http::Timeout=20', 'Acquire::Retries=0']
  const settings = limits.flatMap((limit) => ['-o', limit])
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const [command = '', ...args] = installLine(missing).split(' ')
  const run = (words: readonly string[]) =>
    spawnSync(command, [...settings, ...words], { env, stdio: 'inherit', timeout: 300_000 })
  run(['update', '-qq'])
  run(args)
  const left = missingPackages()
  if (left.length > 0)
    console.warn(`${left.join(' and ')} could not be installed; the tests that need it are skipped.`)
}
