import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { KEY, readAnswer, type Served, servers } from './support.ts'

const MIB = 1024 * 1024
const GUARDED = [
  '/v1/tasks',
  '/v1/leases/claim',
  '/lease',
  '/lease/x/heartbeat',
  '/worker/lease',
  '/workers/fail',
]

/** Begins a POST that never ends, and reads the answer. */
async function unfinished({ port }: Pick<Served, 'port'>, path: string, headers: Record<string, string>) {
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 8 * MIB, ...headers },
  })
  request.on('error', () => {})
  request.write('{')
  const [message]: IncomingMessage[] = await once(request, 'response')
  if (message === undefined) throw new Error('no answer')
  return readAnswer(message)
}

/** Eight million characters of JSON, made of what `part` gives. */
function filled(open: string, part: (i: number) => string, close: string): string {
  const parts: string[] = []
  for (let i = 0, length = 0; length < 8 * MIB - 1_000; i++) {
    const text = part(i)
    parts.push(text)
    length += text.length + 1
  }
  return `${open}${parts.join(',')}${close}`
}

describeGates(
  'hostile requests',
  (open) => {
    const serve = servers(open)

    it.each(GUARDED)('%s refuses a wrong key while the body has not arrived', async (path) => {
      const served = await serve({ auth: { api_key: KEY, allow_insecure_dev: false }, maxBodyBytes: 8 * MIB })
      for (const headers of [{}, { authorization: 'Bearer wrong' }, { 'x-api-key': 'wrong' }]) {
        expect(await unfinished(served, path, headers)).toMatchObject({
          status: 401,
          headers: { connection: 'close' },
          body: { code: 'UNAUTHENTICATED' },
        })
      }
    })

    it.each([
      ['many members', filled('{"type":"a","payload":{', (i) => `"${i.toString(36)}":0`, '}}')],
      [
        'many members and one twice',
        filled('{"type":"a","payload":{', (i) => `"${i.toString(36)}":0`, ',"0":0}}'),
      ],
      ['many fields', filled('{"type":"a",', (i) => `"${i.toString(36)}":0`, '}')],
      ['many small objects', filled('{"type":"a","payload":[', (i) => `{"${i.toString(36)}":0}`, ']}')],
      ['many labels', filled('{"type":"a","labels":{', (i) => `"${i.toString(36)}":0`, '}}')],
      ['a list where a name belongs', filled('{"type":"a","requirements":{"tags":[', () => '0', ']}}')],
    ])('the server answers others while it reads 8 MiB of %s', { timeout: 60_000 }, async (_, body) => {
      const served = await serve({ maxBodyBytes: 8 * MIB })
      let isOver = false
      const hostile = served.post('/v1/tasks', body).finally(() => {
        isOver = true
      })
      let slowest = 0
      while (!isOver) {
        const before = process.cpuUsage()
        expect((await served.get('/health/live')).status).toBe(200)
        slowest = Math.max(slowest, process.cpuUsage(before).user / 1000)
      }
      expect([400, 413]).toContain((await hostile).status)
      // In time of this process, which other processes of a busy machine do not add to.
      expect(slowest).toBeLessThan(250)
    })
  },
  ['sqlite'],
)
