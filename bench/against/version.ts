import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** This checkout, which `npm run bench` has just built. */
export const HERE = fileURLToPath(new URL('../..', import.meta.url))

/** A built copy of the repository at a Git ref. */
export interface Version {
  readonly folder: string
  remove(): void
}

export function buildVersion(ref: string): Version {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-bench-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const archive = join(folder, 'source.tar')
    execFileSync('git', ['archive', '--output', archive, ref], { cwd: HERE })
    execFileSync('tar', ['-xf', archive, '-C', folder])
    installAndBuild(folder)
    return { folder, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** Shares the packages of this checkout when both versions lock the same ones. */
function installAndBuild(folder: string): void {
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lock(folder) === lock(HERE)) {
    symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'))
    execFileSync(process.execPath, ['scripts/build.js'], { cwd: folder, stdio: 'inherit' })
  } else {
    // The prepare script of the package builds it.
    execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
  }
}
