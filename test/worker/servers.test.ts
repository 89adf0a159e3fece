import { expect, it } from 'vitest'
import { task, worker } from '../../src/worker/index.ts'
import { createTask, KEY, type Served, serveGate, servers } from '../http/support.ts'
import { describeGates } from '../support/gates.ts'
import { eventually } from './support.ts'

const ADMINS = { api_key: KEY, allow_insecure_dev: false, admin_keys: { ann: 'the-key-of-ann' } }
const MODES = [
  ['insecure development', { api_key: null, allow_insecure_dev: true }],
  ['a shared key', { api_key: KEY, allow_insecure_dev: false }],
  ['a shared key beside keys of admins', ADMINS],
] as const

const HEADERS = { authorization: `Bearer ${KEY}` }

describeGates('SDK workers and servers', (open, storeName) => {
  const serve = servers(open)

  /** Executes ten tasks that report progress, one of which fails once. */
  const work = async (served: Served, fetch: typeof globalThis.fetch) => {
    let failures = 1
    const add = task('add', {
      async run({ n }: { n: number }, context) {
        context.progress({ percent: 50 })
        if (n === 0 && failures-- > 0) throw new Error('not yet')
        return { sum: n + 1 }
      },
    })
    const post: Served['post'] = (path, body) => served.post(path, body, HEADERS)
    const ids: string[] = []
    for (let n = 0; n < 10; n++) {
      ids.push(await createTask({ post }, { type: 'add', payload: { n }, retry_backoff_seconds: 0 }))
    }
    const started = worker({
      url: served.url,
      key: KEY,
      tasks: [add],
      fetch,
      concurrency: 3,
      workerId: 'w1',
      reclaim: true,
      pollSeconds: 1,
      logger: false,
      signals: false,
    })
    const running = started.run()
    const statuses = async () => {
      const tasks = await Promise.all(
        ids.map((id) => served.get(`/v1/tasks/${id}`, { principal_id: 'alice' }, HEADERS)),
      )
      return tasks.map(({ body }) => body.status)
    }
    await eventually(async () => (await statuses()).every((status) => status === 'succeeded'))
    await started.stop()
    await running
  }

  it.each(MODES)('the worker executes its tasks with %s', async (_, auth) => {
    const served = await serve({ auth, realTime: true, sweeping: true })
    await work(served, fetch)
    expect(served.errors).toEqual([])
  })

  it.skipIf(storeName === 'sqlite')(
    'the worker executes its tasks while two servers respond in turn',
    async () => {
      const options = { auth: ADMINS, realTime: true, sweeping: true }
      const first = await serve(options)
      const bench = await first.another(options)
      const second = await serveGate(bench.gate, options)
      let requests = 0
      const alternating: typeof fetch = (input, init) => {
        const url = new URL(input instanceof Request ? input.url : input)
        url.port = String(requests++ % 2 === 0 ? first.port : second.port)
        return fetch(url, init)
      }
      await work(first, alternating)
      expect(requests).toBeGreaterThan(10)
      expect([...first.errors, ...bench.errors]).toEqual([])
    },
  )
})
