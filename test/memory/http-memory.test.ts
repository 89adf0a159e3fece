import { createServer, type IncomingHttpHeaders } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../src/core/errors.ts'
import type { MemoryNote } from '../../src/features/results/result-store.ts'
import { type HttpMemoryOptions, httpMemory } from '../../src/memory/http-memory.ts'

const NOTE: MemoryNote = {
  kind: 'observation',
  domain: 'models',
  dedupe_key: 'asyncgate:task_complete:1',
  principal_ai: 'Kee',
  task_id: '1',
  type: 'consult',
  completed_at: '2026-01-01T00:00:00.000Z',
  content: { yes: 3 },
  encoding: 'json',
  media_type: 'application/json',
  result_pointer: null,
}

interface Got {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** A local memory service with configurable responses. */
async function serve(status: number, answer: string, headers: Record<string, string> = {}) {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url: path = '' } = request
    got.push({ method, path, headers: request.headers, body: JSON.parse(body) })
    response.writeHead(status, headers).end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = z.object({ port: z.number() }).parse(server.address())
  return { got, url: `http://127.0.0.1:${port}/internal/memory` }
}

function open(url: string, options: Partial<HttpMemoryOptions> = {}) {
  const errors: unknown[] = []
  return { errors, memory: httpMemory({ url, onError: (error) => errors.push(error), ...options }) }
}

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => (error instanceof Fault ? { code: error.code, details: error.details } : error),
  )

it('a result is sent with the token, although the memory is on a private address', async () => {
  const { url, got } = await serve(200, '{"memory_id":"m1"}')
  const { memory } = open(url, { token: 'secret' })
  expect(await memory.store(NOTE)).toBe('m1')
  expect(got).toMatchObject([
    {
      method: 'POST',
      path: '/internal/memory',
      headers: { 'x-service-token': 'secret', 'content-type': 'application/json' },
      body: {
        source_system: 'asyncgate',
        dedupe_key: 'asyncgate:task_complete:1',
        recipient_ai: 'Kee',
        as_observation: true,
        domain: 'models',
        observation: { yes: 3 },
        metadata: { task_id: '1', task_type: 'consult', encoding: 'json' },
      },
    },
  ])
  await memory.store({ ...NOTE, kind: 'pattern' })
  expect(got[1]?.body).toMatchObject({ as_observation: false, pattern: { yes: 3 } })
  expect(got[1]?.body).not.toHaveProperty('observation')
})

it.each([
  [201, '{"id":7}', '7'],
  [409, '{"memory_id":"old"}', 'old'],
  [409, '', null],
  [204, '', null],
  [200, 'thanks', null],
  [200, '[]', null],
])('a response of %i %s means that the memory has stored the result', async (status, answer, id) => {
  const { url } = await serve(status, answer)
  expect(await open(url).memory.store(NOTE)).toBe(id)
})

it.each([
  [400, 'MEMORY_REFUSED'],
  [401, 'MEMORY_REFUSED'],
  [302, 'MEMORY_REFUSED'],
  [429, 'MEMORY_UNAVAILABLE'],
  [500, 'MEMORY_UNAVAILABLE'],
  [503, 'MEMORY_UNAVAILABLE'],
])('a response of %i means that the memory has not stored the result', async (status, code) => {
  const { url } = await serve(status, '{"memory_id":"no"}', { location: 'http://127.0.0.1:1/' })
  expect(await refusal(open(url).memory.store(NOTE))).toEqual({ code, details: { status } })
})

it('an unreachable memory is MEMORY_UNAVAILABLE, and only the operator learns why', async () => {
  const { memory, errors } = open('http://127.0.0.1:1/memory')
  expect(await refusal(memory.store(NOTE))).toEqual({ code: 'MEMORY_UNAVAILABLE', details: {} })
  expect(String(errors[0])).toMatch(/the memory at 127\.0\.0\.1:1: /)
})

it('a response that is too long is refused', async () => {
  const { url } = await serve(200, 'x'.repeat(100_000))
  expect(await refusal(open(url).memory.store(NOTE))).toMatchObject({ code: 'MEMORY_REFUSED' })
})
