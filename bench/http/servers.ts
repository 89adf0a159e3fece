import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const BARE = fileURLToPath(new URL('./bare-server.js', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface ServerProcess {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

export function startBare(): Promise<ServerProcess> {
  return start([BARE], {})
}

/** The built server of the version in `root`, as its `npm start` starts it, on loopback without a key; `env` adds settings. */
export function startGate(
  databaseUrl: string,
  env: Record<string, string> = {},
  root = ROOT,
): Promise<ServerProcess> {
  return start([...startFlags(root), join(root, 'dist/cli/main.js'), 'serve', '--port', '0'], {
    ASYNCGATE_ENV: 'development',
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
    ASYNCGATE_DATABASE_URL: databaseUrl,
    ASYNCGATE_LOG_LEVEL: 'ERROR',
    ...env,
  })
}

function startFlags(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return String(scripts.start).split(' ').slice(1, -1)
}

async function start(args: readonly string[], env: Record<string, string>): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await portOf(child)
  return {
    port,
    pid: child.pid ?? Number.NaN,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })
}
