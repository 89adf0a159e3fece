import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { KEY, servers } from './support.ts'

const GUARDED = [
  ['GET', '/v1/tasks'],
  ['POST', '/v1/tasks'],
  ['POST', '/v1/leases/claim'],
  ['GET', '/v1/config'],
  ['GET', '/v1/events'],
  ['POST', '/lease'],
  ['POST', '/lease/x/heartbeat'],
  ['POST', '/worker/lease'],
  ['POST', '/workers/complete'],
  ['GET', '/metrics'],
] as const

const LOG_KEY = '/.well-known/asyncgate-log-key'
const OPEN = ['/health', '/health/live', '/health/ready', '/v1/health', '/openapi.json', '/docs', LOG_KEY]

describeGates(
  'REST with a shared key',
  (open) => {
    const serve = () => servers(open)({ auth: { api_key: KEY, allow_insecure_dev: false } })

    it.each(GUARDED)('%s %s requires the key', async (method, path) => {
      const { send } = await serve()
      const body = method === 'POST' ? {} : undefined
      const wrong: readonly Record<string, string>[] = [
        {},
        { authorization: 'Bearer wrong' },
        { 'x-api-key': 'wrong' },
      ]
      for (const headers of wrong) {
        expect(await send(method, path, body, headers)).toMatchObject({
          status: 401,
          headers: { 'www-authenticate': 'Bearer' },
          body: { error: 'unauthenticated', code: 'UNAUTHENTICATED' },
        })
      }
    })

    it.each(OPEN)('%s requires no key', async (path) => {
      const { get } = await serve()
      expect((await get(path)).status).toBe(200)
    })

    it('either header authenticates, and an argument does not', async () => {
      const { get, post } = await serve()
      expect((await get('/v1/config', {}, { authorization: `Bearer ${KEY}` })).status).toBe(200)
      expect((await get('/v1/config', {}, { 'x-api-key': KEY })).status).toBe(200)
      expect((await post('/v1/tasks', { type: 'job', auth_token: KEY })).status).toBe(401)
    })

    it('a body is not read before the request is authenticated', async () => {
      const { post } = await serve()
      expect((await post('/v1/tasks', '{"broken')).status).toBe(401)
      expect((await post('/v1/tasks', 'x', { 'content-type': 'text/plain' })).status).toBe(401)
    })
  },
  ['sqlite'],
)
