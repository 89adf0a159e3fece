import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'examples')

/** An example that hangs has failed. */
const LIMIT_MS = 120_000

export interface Outcome {
  readonly ok: boolean
  readonly ms: number
  readonly reason?: string
}

/** The folders of examples/, in order. */
export function exampleNames(): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted()
}

export async function runExample(name: string, onText: (text: string) => void): Promise<Outcome> {
  const started = performance.now()
  const main = ['main.ts', 'main.js'].map((file) => join(folder, name, file)).find(existsSync)
  const ended = (reason?: string): Outcome => ({
    ok: reason === undefined,
    ms: performance.now() - started,
    ...(reason !== undefined && { reason }),
  })
  if (main === undefined) return ended('it has neither main.ts nor main.js')
  const child = spawn(process.execPath, ['--import', 'tsx', main], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.setEncoding('utf8').on('data', onText)
  child.stderr.setEncoding('utf8').on('data', onText)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGTERM')
  }, LIMIT_MS)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (isLate) return ended(`not done within ${LIMIT_MS / 1000} s`)
  return code === 0 ? ended() : ended(`it ended with ${code ?? signal}`)
}
