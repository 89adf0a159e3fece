import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { emptyFolder } from '../channels/folder.ts'
import { admin } from '../support/gates.ts'
import { GIST_TOKEN, startGists } from '../support/gist.ts'

const report = (env: Record<string, string>) => reportConfig({ env, file: '/dev/null' })

describe('settings of results', () => {
  it('the settings of results are all optional', () => {
    expect(report({}).config?.results).toEqual({
      results_channel: null,
      results_blob_folder: null,
      results_file_folder: null,
      results_s3_bucket: null,
      results_s3_endpoint: null,
      results_s3_region: null,
      results_s3_prefix: 'asyncgate/',
      results_s3_path_style: false,
      results_http: false,
      results_http_put_url: null,
      results_gist_token: null,
      results_gist_api_url: 'https://api.github.com',
      results_gist_public: false,
    })
  })

  it.each([
    ['file', 'RESULTS_FILE_FOLDER', '/srv/results'],
    ['s3', 'RESULTS_S3_BUCKET', 'my-results'],
    ['http', 'RESULTS_HTTP_PUT_URL', 'https://files.example/results'],
    ['gist', 'RESULTS_GIST_TOKEN', 'env:GITHUB_TOKEN'],
  ])('the missing settings of channel %s are reported', (channel, name, value) => {
    const env = { ASYNCGATE_RESULTS_CHANNEL: channel }
    expect(report(env).problems).toEqual([`RESULTS_CHANNEL is ${channel}, which needs ${name}.`])
    expect(report({ ...env, [`ASYNCGATE_${name}`]: value }).problems).toEqual([])
  })

  it.each(['blob', 'file'])(
    '%s on PostgreSQL causes a warning, because other servers cannot read it',
    (channel) => {
      const env = { ASYNCGATE_RESULTS_CHANNEL: channel, ASYNCGATE_RESULTS_FILE_FOLDER: '/srv/results' }
      const postgres = { ASYNCGATE_DATABASE_URL: 'postgres://user:pw@127.0.0.1/gate' }
      const notice = expect.stringContaining(`RESULTS_CHANNEL is ${channel}, a folder of this machine.`)
      expect(report({ ...env, ...postgres }).notices).toEqual([notice])
      expect(report(env).notices).toEqual([])
      expect(report(postgres).notices).toEqual([])
    },
  )

  it('the channel email requires the email settings', () => {
    expect(report({ ASYNCGATE_RESULTS_CHANNEL: 'email' }).problems).toEqual([
      'RESULTS_CHANNEL is email, which needs MAIL_FROM.',
    ])
  })

  it.each([
    ['RESULTS_CHANNEL', 'pigeon'],
    ['RESULTS_S3_BUCKET', 'a/b'],
    ['RESULTS_S3_PREFIX', 'no-slash'],
    ['RESULTS_S3_PREFIX', '/leading/'],
    ['RESULTS_S3_ENDPOINT', 'minio:9000'],
    ['RESULTS_HTTP_PUT_URL', 'https://user:password@files.example/'],
    ['RESULTS_HTTP_PUT_URL', 'https://files.example/?a=b'],
    ['RESULTS_GIST_API_URL', 'api.github.com'],
    ['RESULTS_GIST_PUBLIC', 'perhaps'],
    ['RESULT_MAX_BYTES', '0'],
  ])('%s=%s is refused with the name of the setting', (name, value) => {
    const [problem] = report({ [`ASYNCGATE_${name}`]: value }).problems
    expect(problem).toContain(`ASYNCGATE_${name} is not`)
  })
})

describe('result channels of a server', () => {
  const folder = emptyFolder()

  async function serve(env: Record<string, string>, use: (server: OpenServer) => Promise<void>) {
    const { config, problems } = report({
      ASYNCGATE_DATABASE_URL: `sqlite:${folder.path}/gate.db`,
      ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
      ASYNCGATE_PORT: '0',
      ...env,
    })
    if (config === undefined) throw new Error(problems.join())
    const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
    try {
      await use(server)
    } finally {
      await server.close()
    }
  }

  const large = 'x'.repeat(2 * 1024 * 1024)

  async function completed({ url }: OpenServer, result: unknown) {
    const post = async (path: string, body: object) => {
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: answer.status, body: Object(await answer.json()) }
    }
    const { task_id } = (await post('/v1/tasks', { type: 'job', principal_id: 'alice' })).body
    const { tasks } = (await post('/v1/leases/claim', { worker_id: 'w1' })).body
    const { lease_id } = tasks[0]
    const { status } = await post(`/v1/tasks/${task_id}/complete`, { worker_id: 'w1', lease_id, result })
    return { task_id, status }
  }

  it('a server stores large results beside its database and creates the folder with the first one', async () => {
    await serve({}, async (server) => {
      await completed(server, 'small')
      expect(folder.files().filter((name) => name.startsWith('blobs'))).toEqual([])
      const { task_id, status } = await completed(server, large)
      expect(status).toBe(200)
      expect(folder.files().filter((name) => /^blobs\/..\/\w{64}$/.test(name))).toHaveLength(1)
      const answer = await fetch(`${server.url}/v1/tasks/${task_id}/result?principal_id=alice`)
      expect(await answer.json()).toBe(large)
    })
  })

  it('a server stores large results in gists with the referenced token and removes the gist of an archived result', async () => {
    const api = await startGists()
    onTestFinished(() => api.close())
    writeFileSync(`${folder.path}/token`, `${GIST_TOKEN}\n`)
    const gist = {
      ASYNCGATE_DATABASE_URL: `sqlite:${folder.path}/gists.db`,
      ASYNCGATE_RESULTS_CHANNEL: 'gist',
      ASYNCGATE_RESULTS_GIST_TOKEN: `file:${folder.path}/token`,
      ASYNCGATE_RESULTS_GIST_API_URL: api.url,
    }
    await serve(gist, async (server) => {
      const { task_id, status } = await completed(server, large)
      expect(status).toBe(200)
      expect([...api.gists.values()]).toMatchObject([{ public: false }])
      const answer = await fetch(`${server.url}/v1/tasks/${task_id}/result?principal_id=alice`)
      expect(await answer.json()).toBe(large)
      const archived = await fetch(`${server.url}/v1/tasks/${task_id}/result/archive`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ principal_id: 'alice' }),
      })
      expect(archived.status).toBe(200)
      expect(api.gists.size).toBe(0)
      api.fault = () => ({ status: 503, headers: { 'retry-after': '0' } })
      // The result is too large for the task, so the worker has to send it again.
      expect((await completed(server, large)).status).toBe(503)
      await server.gate.registerTaskType(admin(), { type: 'job', result_channel: 'gist' })
      const displaced = await completed(server, 'small')
      expect(displaced.status).toBe(200)
      const view = await fetch(`${server.url}/v1/tasks/${displaced.task_id}?principal_id=alice`)
      expect(await view.json()).toMatchObject({ status: 'succeeded', result: { result: 'small' } })
    })
    await expect(
      serve({ ...gist, ASYNCGATE_RESULTS_GIST_TOKEN: 'env:NO_SUCH_TOKEN' }, async () => {}),
    ).rejects.toThrow('RESULTS_GIST_TOKEN: env:NO_SUCH_TOKEN is not set or empty.')
  })

  it('a server stores large results in the configured channel or in none', async () => {
    const results = { ASYNCGATE_RESULTS_CHANNEL: 'file', ASYNCGATE_RESULTS_FILE_FOLDER: `${folder.path}/f` }
    await serve(results, async (server) => {
      const { task_id } = await completed(server, large)
      expect(folder.files().filter((name) => name.startsWith(`f/${task_id}/`))).toHaveLength(1)
    })
    await serve({ ASYNCGATE_RESULTS_CHANNEL: 'none' }, async (server) => {
      expect((await completed(server, large)).status).toBe(413)
    })
    folder.remove()
  })
})
