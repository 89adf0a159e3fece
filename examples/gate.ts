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
  /** A folder for the example, which is deleted in the end. */
  readonly folder: string
  /** The command line of AsyncGate, for what else an example starts. */
  readonly main: string
  /** Ends it as a crash does, and starts it again over the same database, at the same address. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** What `asyncgate dev` starts, on a free port and with a database that is deleted in the end. */
export async function startGate(env: Readonly<Record<string, string>> = {}): Promise<ExampleGate> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-example-'))
  // An example that fails leaves nothing behind either.
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
  // The settings of whoever runs the example are not those of the example.
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('ASYNCGATE_'))
  const gate = spawn(process.execPath, [MAIN, 'dev', '--port', String(port)], {
    cwd: folder,
    env: { ...Object.fromEntries(others), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(gate, 'close')
  const abandon = () => gate.kill('SIGKILL')
  process.prependOnceListener('exit', abandon)
  let complaints = ''
  gate.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: gate.stdout }).on('line', (line) => {
      const [, found] = /^AsyncGate listening on (\S+)/.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
    ended.then(([code]) => reject(new Error(`The gate ended with ${code}:\n${complaints}`)), reject)
  })
  return {
    url,
    async end(signal) {
      gate.kill(signal)
      await ended
      process.off('exit', abandon)
    },
  }
}
