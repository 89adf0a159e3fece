import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { exampleNames, runExample } from '../../scripts/examples/run.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('examples', () => {
  it('the examples match the declared types of the package', { timeout: 60_000 }, () => {
    const tsc = ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'examples/tsconfig.json']
    const { stdout, status } = spawnSync(process.execPath, tsc, { cwd: root, encoding: 'utf8' })
    expect(stdout).toBe('')
    expect(status).toBe(0)
  })

  it('the first examples exist', () => {
    expect(exampleNames()).toEqual(expect.arrayContaining(['01-hello-worker', '02-agent-over-mcp']))
  })

  it.each(exampleNames())('the example %s runs to its end', { timeout: 150_000 }, async (name) => {
    let text = ''
    const outcome = await runExample(name, (more) => {
      text += more
    })
    expect(outcome.ok, text).toBe(true)
    expect(text).not.toBe('')
  })

  it('an example that cannot run fails', async () => {
    const { ok, reason } = await runExample('no-such-example', () => {})
    expect(ok).toBe(false)
    expect(reason).toBe('it has neither main.ts nor main.js')
  })
})
