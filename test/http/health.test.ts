import { expect, it } from 'vitest'
import { StoreError } from '../../src/store/store.ts'
import { describeGates } from '../support/gates.ts'
import { override } from '../support/steps.ts'
import { type Answer, servers } from './support.ts'

describeGates(
  'health',
  (open) => {
    const serve = servers(open)
    const away = () => Promise.reject(new StoreError('unavailable', 'connection to 10.0.0.7 refused'))

    const statuses = async (get: (path: string) => Promise<Answer>) => {
      const paths = ['/health', '/v1/health', '/health/ready', '/health/live']
      return Promise.all(paths.map(async (path) => (await get(path)).status))
    }

    it('the server is unhealthy but live while the database is unavailable', async () => {
      const { get } = await serve({ wrap: (store) => override(store, { ping: away }) })
      expect(await statuses(get)).toEqual([503, 503, 503, 200])
      const answer = await get('/health')
      expect(answer.body).toEqual({
        status: 'unhealthy',
        version: expect.any(String),
        checks: { database: 'failing' },
      })
      expect(answer.text).not.toContain('10.0.0.7')
    })

    it('the server is unhealthy if the database does not respond', async () => {
      const { get } = await serve({ wrap: (store) => override(store, { ping: () => new Promise(() => {}) }) })
      expect(await statuses(get)).toEqual([503, 503, 503, 200])
    })

    it('the server is healthy again when the database is available', async () => {
      let isAway = true
      const { get } = await serve({
        wrap: (store) => override(store, { ping: () => (isAway ? away() : store.ping()) }),
      })
      expect((await get('/health/ready')).status).toBe(503)
      isAway = false
      expect((await get('/health/ready')).status).toBe(200)
    })

    it('metrics are served while the database is unavailable', async () => {
      const { get, post } = await serve({
        wrap: (store) => override(store, { reads: { ...store.reads, counters: away } }),
      })
      await post('/v1/tasks', { type: 'job', principal_id: 'alice' })
      const { status, text } = await get('/metrics')
      expect(status).toBe(200)
      expect(text).toContain('asyncgate_tasks_queued_total{type="job"} 1')
      expect(text).not.toMatch(/^asyncgate_active_leases /m)
    })
  },
  ['sqlite'],
)
