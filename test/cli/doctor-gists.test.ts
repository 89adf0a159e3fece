import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { GIST_TOKEN, startGists } from '../support/gist.ts'
import { cli, testFolder } from './support.ts'

it('asyncgate doctor checks the token of the gist channel with the API, and does not show it', async () => {
  const api = await startGists()
  onTestFinished(() => api.close())
  const database = `sqlite:${join(testFolder(), 'gate.db')}`
  const doctor = async (token: string) => {
    const { stdout } = await cli(['doctor', '--port', '0', '--database-url', database, '--json'], {
      ASYNCGATE_RESULTS_GIST_TOKEN: token,
      ASYNCGATE_RESULTS_GIST_API_URL: api.url,
    })
    expect(stdout).not.toContain('ghp_')
    const { checks } = JSON.parse(stdout)
    return checks.filter(({ check }: { check: string }) => check === 'gists')
  }
  expect(await doctor(GIST_TOKEN)).toMatchObject([{ ok: true, detail: `${api.url}/ accepts the token` }])
  expect(await doctor('ghp_wrong')).toMatchObject([
    {
      ok: false,
      detail: expect.stringContaining('the token is not valid'),
      fix: expect.stringContaining('RESULTS_GIST_TOKEN'),
    },
  ])
  expect(await doctor('env:NO_SUCH_TOKEN')).toMatchObject([
    { ok: false, detail: expect.stringContaining('env:NO_SUCH_TOKEN is not set or empty') },
  ])
})
