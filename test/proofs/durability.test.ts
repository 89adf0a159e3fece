import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { childArguments } from '../support/processes.ts'
import type { CommitsOptions } from './children/commits.ts'

const COMMITS = 20

/** Proves that a commit survives a power failure, which killing a process cannot show. */
const TRACED = 'trace=write,pwrite64,pwritev,fsync,fdatasync'

const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
if (!canTrace) console.warn('The durability proof is SKIPPED: it needs Linux and the package "strace".')

describe.skipIf(!canTrace)('acknowledgement of SQLite', () => {
  let folder: string
  beforeEach(() => {
    // The trace shows resolved paths.
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'asyncgate-durability-')))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('a commit is acknowledged only after its log writes have reached the disk', {
    timeout: 60_000,
  }, async () => {
    const path = join(folder, 'gate.db')
    const options: CommitsOptions = { place: { sqlite: path }, count: COMMITS }
    // One file per thread with the calls in the order in which they returned; descriptors have their paths.
    const trace = join(folder, 'trace')
    const strace = ['-ff', '-y', '-s', '64', '-e', TRACED, '-o', trace, process.execPath]
    await promisify(execFile)('strace', [...strace, ...childArguments('commits', options)])

    const threads = readdirSync(folder)
      .filter((name) => name.startsWith('trace.'))
      .map((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    const calls = threads.find((lines) => lines.some(isAcknowledgement)) ?? []
    const acknowledgements = readTrace(calls, `${path}-wal`)
    expect(acknowledgements).toHaveLength(COMMITS)
    expect(
      acknowledgements.filter(({ written, synced, unsynced }) => !written || !synced || unsynced),
    ).toEqual([])
  })
})

/** The operations on the log since the previous acknowledgement. */
interface Acknowledgement {
  readonly written: number
  readonly synced: number
  /** Writes after the last sync. */
  readonly unsynced: number
}

function readTrace(calls: readonly string[], log: string): Acknowledgement[] {
  const found: Acknowledgement[] = []
  let [written, synced, unsynced] = [0, 0, 0]
  for (const call of calls) {
    if (isAcknowledgement(call)) {
      found.push({ written, synced, unsynced })
      ;[written, synced] = [0, 0]
    } else if (call.includes(`<${log}>`)) {
      if (/^p?write/.test(call)) {
        written++
        unsynced++
      } else if (/^f(data)?sync\(.* = 0$/.test(call)) {
        synced++
        unsynced = 0
      }
    }
  }
  return found
}

function isAcknowledgement(call: string): boolean {
  return /^write\(1<.*"acknowledged \d+/.test(call)
}
