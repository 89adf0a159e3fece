import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Prints what is at a URL. The pages call their server `https://gate.example`. */
const CURL = `const url = process.argv[2].replace('https://gate.example', process.env.ASYNCGATE_URL)
fetch(url).then(async (response) => {
  process.stdout.write(await response.text())
  process.exitCode = response.ok ? 0 : 22
})`

/** A shell in a folder that knows the commands of the pages. */
export class Shell {
  readonly #folder: string
  readonly #env: Readonly<Record<string, string>>

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder
    this.#env = env
    mkdirSync(join(folder, 'bin'), { recursive: true })
    this.#command('asyncgate', MAIN)
    writeFileSync(join(folder, 'bin/curl.cjs'), CURL)
    this.#command('curl', join(folder, 'bin/curl.cjs'))
  }

  /** Runs a block of a page, and expects that all its commands succeed. Resolves with their output. */
  async run(block: string): Promise<string> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASYNCGATE_'))
    const path = `${join(this.#folder, 'bin')}${delimiter}${process.env.PATH ?? ''}`
    const child = spawn('sh', ['-e', '-c', block], {
      cwd: this.#folder,
      env: { ...Object.fromEntries(inherited), ...this.#env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const [code] = await once(child, 'close')
    expect(code, `${block}\n${stdout}${stderr}`).toBe(0)
    return stdout
  }

  #command(name: string, program: string): void {
    const file = join(this.#folder, 'bin', name)
    writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`)
    chmodSync(file, 0o755)
  }
}
