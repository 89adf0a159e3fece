import { describe, expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { bareCall, contentOf, modernCall, startMcp } from '../endpoint.ts'

/** A gate that reports when a claim begins and ends. */
function watchingClaims() {
  let began = () => {}
  let ended = () => {}
  return {
    began: new Promise<void>((resolve) => (began = resolve)),
    ended: new Promise<void>((resolve) => (ended = resolve)),
    wrap: (gate: Gate): Gate => ({
      ...gate,
      async call(...args) {
        const claim = gate.call(...args)
        began()
        return claim.finally(ended)
      },
    }),
  }
}

const args = { worker_id: 'w', wait_seconds: 50 }
const WAITING = {
  modern: modernCall('asyncgate.lease_next', args),
  bare: bareCall('asyncgate.lease_next', args),
}

describe.each([
  ['fast path', true, WAITING.modern],
  ['the SDK', false, WAITING.modern],
  ['older clients', true, WAITING.bare],
])('a waiting claim, through %s', (_, fastPath, request) => {
  it('the claim ends when its client disconnects, and leases no task', async () => {
    const watched = watchingClaims()
    const server = await startMcp({ fastPath, wrap: watched.wrap })
    const client = new AbortController()
    const waiting = server.post(request, client.signal).catch(() => 'left')
    await watched.began
    client.abort()
    await expect(waiting).resolves.toBe('left')
    await watched.ended
    const { task_id } = contentOf(await server.call('asyncgate.create_task', { type: 'x', agent_id: 'a' }))
    const next = await server.call('asyncgate.lease_next', { worker_id: 'other' })
    expect(contentOf(next)).toMatchObject({ tasks: [{ task_id }] })
  })

  it('the claim returns no tasks when the server stops', async () => {
    const watched = watchingClaims()
    const server = await startMcp({ fastPath, wrap: watched.wrap })
    const waiting = server.post(request)
    await watched.began
    await server.endpoint.close()
    const answer = await waiting
    expect(answer.status).toBe(200)
    expect(contentOf(answer)).toEqual({ tasks: [] })
  })
})

it('a request that arrives while the server stops is answered immediately', async () => {
  const server = await startMcp()
  await server.endpoint.close()
  expect(contentOf(await server.post(WAITING.modern))).toEqual({ tasks: [] })
  expect(contentOf(await server.call('asyncgate.health'))).toMatchObject({ status: 'healthy' })
})

it('a subscription without supported notifications ends immediately', async () => {
  const server = await startMcp()
  const response = await server.listen({ promptsListChanged: true })
  const text = await response.text()
  expect(text).toContain('notifications/subscriptions/acknowledged')
})

it('a subscription stream ends when the server stops', async () => {
  const server = await startMcp()
  const response = await server.listen({ toolsListChanged: true })
  await server.endpoint.close()
  expect(await response.text()).toContain('notifications/subscriptions/acknowledged')
})

it.each([true, false])(
  'concurrent clients with the same request id get their own responses, fast path %s',
  async (fastPath) => {
    const server = await startMcp({ fastPath })
    const create = (i: number) =>
      modernCall('asyncgate.create_task', { type: 'x', payload: i, agent_id: `a${i}` }, {}, 'same')
    const created = await Promise.all(Array.from({ length: 20 }, (_, i) => server.post(create(i))))
    const seen = await Promise.all(
      created.map((answer, i) =>
        server.call('asyncgate.get_task', { task_id: contentOf(answer).task_id, agent_id: `a${i}` }),
      ),
    )
    expect(seen.map((answer) => contentOf(answer).payload)).toEqual(created.map((_, i) => i))
  },
)
