import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

export function installLine(name: string): string {
  return `apt-get install -y --no-install-recommends ${name}`
}

/** Installs a package of Debian if we may. Whoever needs it looks whether it is there. */
export function installPackage(name: string): void {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  const [command = '', ...args] = installLine(name).split(' ')
  // Another test file may be installing something right now; and where there is no network, nobody should wait for it.
  const patience = ['DPkg::Lock::Timeout=240', 'Acquire::http::Timeout=20', 'Acquire::Retries=0']
  const settings = patience.flatMap((setting) => ['-o', setting])
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, timeout: 300_000 }
  spawnSync(command, [...settings, 'update', '-qq'], options)
  spawnSync(command, [...settings, ...args], options)
}

/** Says what is not tested, so that nobody overlooks it. */
export function skippedLoudly(what: string, why: string, name: string): void {
  const line = '!'.repeat(100)
  console.warn(
    `\n${line}\n!!  ${what} ARE SKIPPED.\n!!  ${why} To install it: ${installLine(name)}\n${line}\n`,
  )
}
