import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('small-heap.ts', import.meta.url))

it('a response of 50 MB is refused without being held in memory', () => {
  // The heap is too small for the text of the response and its parsed value.
  const args = ['--max-old-space-size=48', '--import', import.meta.resolve('tsx'), script]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
  expect({ status, stdout, stderr: stderr.slice(-1000) }).toEqual({
    status: 0,
    stdout: 'UPSTREAM_RESULT_TOO_LARGE\nstill here\n',
    stderr: '',
  })
})
