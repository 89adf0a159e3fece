import { describe, expect, it } from 'vitest'
import { type OpenServer, openServer } from '../../src/cli/open-server.ts'
import { reportConfig } from '../../src/config.ts'
import { createLogger } from '../../src/http/log.ts'
import { emptyFolder } from '../channels/folder.ts'

const report = (env: Record<string, string>) => reportConfig({ env, file: '/dev/null' })

describe('the settings of results', () => {
  it('need nothing', () => {
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
    })
  })

  it.each([
    ['file', 'RESULTS_FILE_FOLDER', '/srv/results'],
    ['s3', 'RESULTS_S3_BUCKET', 'my-results'],
    ['http', 'RESULTS_HTTP_PUT_URL', 'https://files.example/results'],
  ])('ask for what %s needs', (channel, name, value) => {
    const env = { ASYNCGATE_RESULTS_CHANNEL: channel }
    expect(report(env).problems).toEqual([`RESULTS_CHANNEL is ${channel}, which needs ${name}.`])
    expect(report({ ...env, [`ASYNCGATE_${name}`]: value }).problems).toEqual([])
  })

  it.each(['blob', 'file'])('warn of %s on PostgreSQL, where other servers do not see it', (channel) => {
    const env = { ASYNCGATE_RESULTS_CHANNEL: channel, ASYNCGATE_RESULTS_FILE_FOLDER: '/srv/results' }
    const postgres = { ASYNCGATE_DATABASE_URL: 'postgres://user:pw@127.0.0.1/gate' }
    const notice = expect.stringContaining(`RESULTS_CHANNEL is ${channel}, a folder of this machine.`)
    expect(report({ ...env, ...postgres }).notices).toEqual([notice])
    expect(report(env).notices).toEqual([])
    expect(report(postgres).notices).toEqual([])
  })

  it('ask for mail, if results are to go by mail', () => {
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
    ['RESULT_MAX_BYTES', '0'],
  ])('refuse %s=%s by name', (name, value) => {
    const [problem] = report({ [`ASYNCGATE_${name}`]: value }).problems
    expect(problem).toContain(`ASYNCGATE_${name} is not`)
  })
})

describe('a server', () => {
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

  it('keeps large results beside its database, and makes no folder before there is one', async () => {
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

  it('keeps them where it is told, or nowhere', async () => {
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
