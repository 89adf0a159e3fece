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
  stop(): Promise<void>
}

/** What `asyncgate dev` starts, on a free port and with a database that is deleted in the end. */
export async function startGate(env: Readonly<Record<string, string>> = {}): Promise<ExampleGate> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-example-'))
  // The settings of whoever runs the example are not those of the example.
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('ASYNCGATE_'))
  const gate = spawn(process.execPath, [MAIN, 'dev', '--port', '0'], {
    cwd: folder,
    env: { ...Object.fromEntries(others), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(gate, 'close')
  const clear = () => rmSync(folder, { recursive: true, force: true })
  // An example that fails leaves nothing behind either.
  const abandon = () => {
    gate.kill('SIGKILL')
    clear()
  }
  process.once('exit', abandon)
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
    folder,
    main: MAIN,
    async stop() {
      gate.kill('SIGTERM')
      await ended
      process.off('exit', abandon)
      clear()
    },
  }
}
