import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { canInstall, findProgram, installLine, installPackages } from '../../test/support/debian-package.ts'

export type AppendFsync = 'everysec' | 'always'

export interface RedisProcess {
  readonly url: string
  /** Stops the server and deletes its folder. */
  remove(): Promise<void>
}

/** The path of redis-server, which is installed if possible; undefined, with a prominent warning, otherwise. */
export function findRedis(): string | undefined {
  if (findProgram('redis-server') === undefined && canInstall()) installPackages(['redis-server'])
  const program = findProgram('redis-server')
  if (program === undefined) {
    const line = '!'.repeat(100)
    console.warn(
      `\n${line}\n!!  BullMQ IS SKIPPED: redis-server is not installed.\n!!  On Debian, as root, run: ${installLine(['redis-server'])}\n${line}\n`,
    )
  }
  return program
}

export function redisVersion(program: string): string {
  const text = execFileSync(program, ['--version'], { encoding: 'utf8' })
  return /v=(\S+)/.exec(text)?.[1] ?? text.trim()
}

/** Starts an empty Redis with an append-only file, as BullMQ recommends for production. */
export async function startRedis(program: string, appendfsync: AppendFsync): Promise<RedisProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-bench-redis-'))
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync,
    'maxmemory-policy': 'noeviction',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  // A separate process group, so that Ctrl-C reaches only the benchmark, which then stops the server.
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const remove = async () => {
    if (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await readiness(server)
    return { url: `redis://127.0.0.1:${port}`, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

function readiness(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)))
    if (server.stdout === null) return
    createInterface({ input: server.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve()
    })
  })
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('there is no free port')
  return address.port
}
