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

/** Begins a POST whose body never ends, and reads the response. */
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
  },
  ['sqlite'],
)
