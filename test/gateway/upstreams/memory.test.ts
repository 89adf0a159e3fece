import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('small-heap.ts', import.meta.url))

it('an answer of 50 MB does not need the memory for it', () => {
  // With a heap in which the text alone, and what is parsed of it, would not fit.
  const args = ['--max-old-space-size=48', '--import', import.meta.resolve('tsx'), script]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
  expect({ status, stdout, stderr: stderr.slice(-1000) }).toEqual({
    status: 0,
    stdout: 'UPSTREAM_RESULT_TOO_LARGE\nstill here\n',
    stderr: '',
  })
})
