import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { createLogger, logErrors } from '../../src/http/log.ts'
import { describeGates } from '../support/gates.ts'
import { override } from '../support/steps.ts'
import { heldTask, KEY, members, type ServeOptions, servers } from './support.ts'

/** A logger and its lines. */
function capture(level = 'info') {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return {
    logger: createLogger(level, destination),
    lines,
    entries: () => lines.map((line) => members(JSON.parse(line))),
  }
}

describeGates(
  'the log',
  (open) => {
    const serve = async (options: ServeOptions = {}, level?: string) => {
      const log = capture(level)
      const served = await servers(open)({ ...options, logger: log.logger })
      return { ...served, ...log }
    }

    it('the log has one line per request with its ids', async () => {
      const served = await serve()
      const held = await heldTask(served)
      await served.post('/v1/leases/renew', held, { 'x-request-id': 'trace-7' })
      await served.get('/nowhere')
      await served.close()
      const { task_id, lease_id } = held
      const known = { tenant: 'default', ms: expect.any(Number), request_id: expect.any(String) }
      expect(served.entries()).toMatchObject([
        {
          ...known,
          method: 'POST',
          route: '/v1/tasks',
          status: 200,
          principal: 'agent:alice',
          role: 'agent',
          task_id,
        },
        {
          ...known,
          route: '/v1/leases/claim',
          status: 200,
          principal: 'worker:w1',
          worker_id: 'w1',
          task_id,
          lease_id,
        },
        {
          ...known,
          route: '/v1/leases/renew',
          status: 200,
          worker_id: 'w1',
          lease_id,
          request_id: 'trace-7',
        },
        { method: 'GET', route: '(unknown)', status: 404 },
      ])
    })

    it('the log never contains a key, a payload, a query or a result', async () => {
      const served = await serve({ auth: { api_key: KEY, allow_insecure_dev: false } })
      const headers = { authorization: `Bearer ${KEY}` }
      const body = { type: 'job', payload: { password: 'xyzzy' }, summary: 'xyzzy', auth_token: 'xyzzy' }
      await served.post('/v1/tasks?principal_id=alice', body, headers)
      await served.post('/v1/tasks', { ...body, task_id: 'x'.repeat(10_000) }, headers)
      await served.get('/v1/tasks', { cursor: 'xyzzy', session_id: 'xyzzy' }, headers)
      await served.get('/v1/tasks', {}, { authorization: 'Bearer wrong-xyzzy', 'x-api-key': 'xyzzy' })
      await served.get('/xyzzy')
      await served.close()
      expect(served.lines).toHaveLength(5)
      expect(served.lines.join('')).not.toMatch(/xyzzy|a-shared-key|authorization|xxxx/i)
    })

    it('probes and scrapes are logged only at level debug', async () => {
      for (const [level, count] of [
        ['info', 0],
        ['debug', 2],
        ['warn', 0],
      ] as const) {
        const served = await serve({}, level)
        await served.get('/health/ready')
        await served.get('/metrics')
        await served.close()
        expect(served.entries()).toHaveLength(count)
      }
    })

    it('the log contains the cause of an error that callers see only as a code', async () => {
      const { logger, entries } = capture('error')
      const served = await servers(open)({
        logger,
        wrap: (store) => override(store, { commit: () => Promise.reject(new Error('disk on fire')) }),
      })
      const answer = await served.post('/v1/tasks', { type: 'job', principal_id: 'alice' })
      expect(answer.text).not.toContain('fire')
      for (const error of served.errors) logErrors(logger)(error)
      expect(entries()).toMatchObject([{ err: { message: 'disk on fire', stack: expect.any(String) } }])
    })

    it('the log contains the cause of an unexpected error', async () => {
      const served = await serve({}, 'error')
      served.gate.call = () => Promise.reject(new Error('a bug'))
      const answer = await served.get('/v1/config')
      expect(answer).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } })
      expect(answer.text).not.toContain('a bug"')
      expect(served.entries()).toMatchObject([
        { err: { message: 'a bug' }, request_id: answer.headers['x-request-id'] },
      ])
    })
  },
  ['sqlite'],
)
