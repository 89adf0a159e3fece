import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { agent, describeGates } from '../support/gates.ts'
import { Barrier, override, soon } from '../support/steps.ts'
import { type Answer, readAnswer, servers } from './support.ts'

const CLIENTS = 32

/** Sends one request; resolves with the code of the error if there is no response. */
function attempt(port: number, connections: Agent, body: object): Promise<Answer | string> {
  return new Promise((resolve) => {
    request(
      {
        port,
        host: '127.0.0.1',
        agent: connections,
        method: 'POST',
        path: '/v1/tasks',
        headers: { 'content-type': 'application/json' },
      },
      (message) => readAnswer(message).then(resolve, () => resolve('cut off')),
    )
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      .end(JSON.stringify(body))
  })
}

describeGates('server shutdown', (open) => {
  const serve = servers(open)

  it('every accepted request is answered under load', async () => {
    const { gate, port, stop } = await serve({ drainMs: 200 })
    const connections = new Agent({ keepAlive: true, maxSockets: CLIENTS })
    const created: unknown[] = []
    const failures: unknown[] = []
    const client = async (name: number) => {
      for (let i = 0; ; i++) {
        const answer = await attempt(port, connections, {
          type: 'job',
          principal_id: 'alice',
          payload: { name, i },
        })
        if (typeof answer === 'string') {
          if (answer !== 'ECONNREFUSED') failures.push(answer)
          return
        }
        if (answer.status !== 200) failures.push(answer.text)
        created.push(answer.body.task_id)
      }
    }
    const clients = Array.from({ length: CLIENTS }, (_, name) => client(name))
    while (created.length < 300) await delay(5)
    const started = performance.now()
    await soon(stop())
    expect(performance.now() - started).toBeLessThan(5000)
    await soon(Promise.all(clients))
    connections.destroy()
    expect(failures).toEqual([])
    const stored: unknown[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await gate.listTasks(agent(), { limit: 200, ...(cursor && { cursor }) })
      stored.push(...page.tasks.map((task) => task.task_id))
      cursor = page.next_cursor
    }
    expect(stored.toSorted()).toEqual(created.toSorted())
  })

  it('a stopping server is not ready but completes running requests', async () => {
    const barrier = new Barrier()
    const { get, post, stop } = await serve({
      drainMs: 500,
      wrap: (store) =>
        override(store, {
          commit: async (need, decide) => {
            await barrier.pass()
            return store.commit(need, decide)
          },
        }),
    })
    expect((await get('/health/ready')).status).toBe(200)
    barrier.shut()
    const creating = post('/v1/tasks', { type: 'job', principal_id: 'alice' })
    await barrier.arrival()
    const stopped = stop()
    try {
      expect(await get('/health/ready')).toMatchObject({
        status: 503,
        body: { status: 'unhealthy', checks: { server: 'stopping' } },
      })
      expect((await get('/health/live')).status).toBe(200)
    } finally {
      barrier.open()
    }
    expect((await soon(creating)).status).toBe(200)
    await soon(stopped)
  })

  it('stop can be called twice', async () => {
    const { stop } = await serve()
    await soon(Promise.all([stop(), stop()]))
  })
})
