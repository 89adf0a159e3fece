import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { programOf } from './debian-package.ts'

/** Undefined, with a warning about the skipped tests, if Redis is not installed. */
export const redisProgram = programOf('redis-server', 'Rate limits in Redis')

export interface TestRedis {
  readonly url: string
  /** Ends the process as a crash would. */
  kill(): Promise<void>
  /** Starts it again on the same port, with an empty database. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** A Redis on a free port of loopback that stores nothing on disk. */
export async function startRedis(program: string): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-redis-'))
  const port = await freePort()
  const start = async () => {
    const args = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      folder,
    ]
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const line of createInterface({ input: child.stdout })) {
      if (/ready to accept connections/i.test(line)) break
    }
    child.stdout.resume()
    return child
  }
  let child = await start()
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    async restart() {
      child = await start()
    },
    async close() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
