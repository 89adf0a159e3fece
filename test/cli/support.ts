import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished, vi } from 'vitest'
import { run } from '../../src/cli/run.ts'

/**
 * The built program starts in a fraction of the time that the sources take. test/support/build.ts keeps it up to
 * date.
 */
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

type Environment = Readonly<Record<string, string>>

export interface Ended {
  readonly code: number | NodeJS.Signals
  readonly stdout: string
  readonly stderr: string
}

export interface Child {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
}

export interface Server extends Child {
  readonly url: string
  readonly output: () => string
  stop(): Promise<Ended>
}

export function folder(): string {
  return mkdtempSync(join(tmpdir(), 'asyncgate-cli-'))
}

/** A folder for one test. */
export function testFolder(): string {
  const path = folder()
  const options = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const
  // A process that is stopping may still write to its folder.
  onTestFinished(() => rmSync(path, options))
  return path
}

/** Starts the command as a process, without ASYNCGATE_ variables in its environment. */
export function startCli(args: readonly string[], cwd: string, env: Environment = {}): Child {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASYNCGATE_'))
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(
    ([code, signal]): Ended => ({ code: code ?? signal, stdout, stderr }),
  )
  return { process: child, ended }
}

/** Starts a server on a free port. */
export async function startServer(
  args: readonly string[],
  cwd: string,
  env: Environment = {},
): Promise<Server> {
  const { process: child, ended } = startCli([...args, '--port', '0'], cwd, env)
  let seen = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (text: string) => {
      seen += text
      const [, found] =
        /^(?:AsyncGate listening on |\{"event":"listening","url":")(https?:[^\s"]+)/m.exec(seen) ?? []
      if (found !== undefined) resolve(found)
    })
    ended.then(({ code, stderr }) => reject(new Error(`It ended with ${code}:\n${stderr}`)))
  })
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { process: child, ended, url, output: () => seen, stop }
}

/** Runs the command in this process, which is faster, and captures its output. */
export async function cli(args: readonly string[], env: Environment = {}): Promise<Ended> {
  const written = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text)
      return true
    }),
  )
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    return { code: await run(args), ...written }
  } finally {
    vi.unstubAllEnvs()
    for (const spy of spies) spy.mockRestore()
  }
}
