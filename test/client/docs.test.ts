import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { task, worker } from '../../src/worker/index.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from '../docs/markdown.ts'

/** All code of a page, in order, as one program that imports the package by its name. */
function programOf(page: string, change: (text: string) => string = (text) => text): string {
  const blocks = blocksOf(repositoryText(page)).filter(({ language }) => language === 'ts')
  expect(blocks.length).toBeGreaterThan(3)
  // Inside of the package, where its name resolves to itself.
  const cache = fileURLToPath(new URL('../../.cache/', import.meta.url))
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'main.mts')
  writeFileSync(file, change(blocks.map(({ text }) => text).join('\n\n')))
  return file
}

async function run(file: string): Promise<{ code: unknown; text: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
  }
  const [code] = await once(child, 'close')
  return { code, text }
}

describe('code in the documentation', () => {
  it('the code of docs/client-library.md prints what the page says', { timeout: 60_000 }, async () => {
    const config = loadConfig({
      env: {},
      file: devNull,
      flags: { port: 0, database_url: 'sqlite::memory:' },
      preset: () => ({ allow_insecure_dev: true }),
    })
    const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
    // Like the worker of "asyncgate dev".
    const echo = task('echo', { run: (payload) => ({ echo: payload }) })
    const working = worker({ url: server.url, tasks: [echo], signals: false, logger: false })
    const stopped = working.run()
    onTestFinished(async () => {
      working.stop()
      await stopped
      await server.close()
    })
    const file = programOf('docs/client-library.md', (text) =>
      text.replace('http://127.0.0.1:8080', server.url),
    )
    const { code, text } = await run(file)
    expect(code, text).toBe(0)
    expect(text).toContain("{ echo: { hello: 'world' } }")
    expect(text).toContain('succeeded { echo: { page: 1 } }')
    expect(text).toContain('TASK_NOT_FOUND')
    expect(text).toContain('true true')
    expect(text).toContain('TimeoutError')
    expect(text).toContain('echo succeeded')
  })

  it('the code of docs/testing.md passes', { timeout: 60_000 }, async () => {
    const { code, text } = await run(programOf('docs/testing.md'))
    expect(code, text).toBe(0)
    expect(text).toMatch(/pass 7\b/)
  })
})
