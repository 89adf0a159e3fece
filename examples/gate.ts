import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

export interface ExampleGate {
  readonly url: string
  /** A folder for the example, which is deleted at the end. */
  readonly folder: string
  /** The main file of the CLI, to start other commands of AsyncGate. */
  readonly main: string
  /** Kills the gate and restarts it with the same database, at the same address. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** Starts `asyncgate dev` on a free port, with a database that is deleted at the end. */
export async function startGate(env: Readonly<Record<string, string>> = {}): Promise<ExampleGate> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-example-'))
  // The folder is also deleted when the example fails.
  const clear = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clear)
  let gate = await startProcess(folder, 0, env)
  const { url } = gate
  return {
    url,
    folder,
    main: MAIN,
    async crash() {
      await gate.end('SIGKILL')
      gate = await startProcess(folder, Number(new URL(url).port), env)
    },
    async stop() {
      await gate.end('SIGTERM')
      process.off('exit', clear)
      clear()
    },
  }
}

interface GateProcess {
  readonly url: string
  end(signal: NodeJS.Signals): Promise<void>
}

async function startProcess(
  folder: string,
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<GateProcess> {
  // The example must not inherit the ASYNCGATE_ settings of the shell.
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('ASYNCGATE_'))
  const gate = spawn(process.execPath, [MAIN, 'dev', '--port', String(port)], {
    cwd: folder,
    env: { ...Object.fromEntries(others), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(gate, 'close')
  const killOnExit = () => gate.kill('SIGKILL')
  process.prependOnceListener('exit', killOnExit)
  let errors = ''
  gate.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: gate.stdout }).on('line', (line) => {
      const [, found] = /^AsyncGate listening on (\S+)/.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
    ended.then(([code]) => reject(new Error(`The gate exited with ${code}:\n${errors}`)), reject)
  })
  return {
    url,
    async end(signal) {
      gate.kill(signal)
      await ended
      process.off('exit', killOnExit)
    },
  }
}
