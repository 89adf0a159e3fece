import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'

/** Generous: PostgreSQL keeps up to 512 MB of its log, and the largest results of tests have 256 MiB. */
const NEEDED_BYTES = 4 * 1024 ** 3

/**
 * The databases of the tests are in memory where the machine has room for them, because most of the time of a commit is
 * the time of the disk. What reaches a disk is the subject of test/proofs/durability.test.ts, which reads the system calls.
 * TMPDIR in the environment takes precedence.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return undefined
  const folder = mkdtempSync(join(MEMORY, 'asyncgate-tests-'))
  const guard = removeWhenThisProcessEnds(folder)
  const remove = async () => {
    guard.stdin.end()
    await once(guard, 'exit')
  }
  // PostgreSQL and Dovecot run as another user.
  chmodSync(folder, 0o1777)
  if (!runsPrograms(folder)) {
    await remove()
    return undefined
  }
  process.env.TMPDIR = folder
  return async () => {
    delete process.env.TMPDIR
    await remove()
  }
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES
}

/** Containers often mount the folder with noexec, and some tests write programs into their folders. */
function runsPrograms(folder: string): boolean {
  const program = join(folder, 'probe')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

/** The pipe closes when this process ends in any way, and files in memory must not outlive it. */
function removeWhenThisProcessEnds(folder: string) {
  return spawn('sh', ['-c', 'read -r _; rm -rf "$1" || { sleep 2; rm -rf "$1"; }', 'sh', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
}
