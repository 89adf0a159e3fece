import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'

const SCENARIO = fileURLToPath(new URL('scenario.py', import.meta.url))
const KEY = 'a-shared-key-for-tests'

const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython && process.env.CI) throw new Error('python3 is not there')
if (!hasPython) console.warn('python3 is not there: THE PYTHON PACKAGE IS NOT TESTED')

async function startServer(auth: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-python-'))
  const env = { ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`, ASYNCGATE_PORT: '0', ...auth }
  const server = await openServer(loadConfig({ env, file: '/dev/null' }), createLogger('silent'))
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return server.url
}

describe.skipIf(!hasPython)('the Python package', () => {
  it.each([
    ['with a key', { ASYNCGATE_API_KEY: KEY }],
    ['without keys', { ASYNCGATE_ALLOW_INSECURE_DEV: 'true' }],
  ])(
    'a worker and a client work together %s',
    async (_, auth) => {
      const url = await startServer(auth)
      const key = 'ASYNCGATE_API_KEY' in auth ? { ASYNCGATE_API_KEY: KEY } : {}
      const env = { PATH: process.env.PATH, ASYNCGATE_URL: url, ...key }
      const { stdout } = await promisify(execFile)('python3', ['-B', SCENARIO], { env, timeout: 120_000 })
      const seen = JSON.parse(stdout)
      expect(seen).toMatchObject({
        result: 6,
        failed: { code: 'BROKEN', message: 'It is broken.', details: { part: 7 } },
        not_json: 'INVALID_OUTPUT',
        canceled: true,
        greeting: 'Hello Ada',
        stopped: true,
      })
      expect(seen.timeout).toMatch(/leased|running/)
      expect(seen.logs).toEqual(expect.arrayContaining(['adding', 'the hook on_start failed']))
      expect(seen.calls).toEqual(
        expect.arrayContaining([
          'worker on_success add',
          'on_failure BROKEN False',
          'aborted canceled',
          'on_cancel',
        ]),
      )
      expect(seen.calls).not.toContain('worker on_success endless')
    },
    150_000,
  )
})
