import { expect, it } from 'vitest'
import { cli, startServer, testFolder } from './support.ts'

const KEYS = { ASYNCGATE_API_KEY: 'a-key-of-the-tests', ASYNCGATE_ADMIN_KEYS: 'ann=the-key-of-ann-0001' }

it('asyncgate retention shows, pauses and resumes, and doctor reports growth', async () => {
  const settings = { ...KEYS, ASYNCGATE_TASK_RETENTION_DAYS: '14' }
  const folder = testFolder()
  const server = await startServer(['serve'], folder, settings)
  const retention = async (...args: string[]) => {
    const call = ['retention', ...args, '--url', server.url, '--key', 'the-key-of-ann-0001']
    return (await cli(call, { ASYNCGATE_API_KEY: '' })).stdout
  }
  expect(await retention('status')).toMatch(/Contents of ended tasks +14 days/)
  expect(await retention('pause')).toMatch(/State +paused/)
  expect(JSON.parse(await retention('run', '--dry-run', '--json'))).toMatchObject({
    state: 'paused',
    archive: 'disk',
    due: { clear: 0, archive: 0 },
  })
  expect(await retention('resume')).toMatch(/State +idle/)
  const { stdout } = await cli(['doctor'], {
    ...settings,
    ASYNCGATE_DATABASE_URL: `sqlite:${folder}/.asyncgate/asyncgate.db`,
  })
  expect(stdout).toMatch(/growth +ok +0 tasks and 0.0 kB of receipts per day/)
  await server.stop()
})
