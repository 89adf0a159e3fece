import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type McpServer, modernCall, modernPost, openMcp, type Post } from '../endpoint.ts'
import { aboutTask, CASES } from '../requests.ts'

/** The response without the values that differ between gates. */
function comparable({ status, headers, body }: Answer) {
  const text = JSON.stringify(body ?? null)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
  return { status, type: headers.get('content-type')?.split(';')[0], body: JSON.parse(text) }
}

function codeOf({ body }: Answer): unknown {
  return body?.error?.code ?? (body?.result?.isError ? body.result.structuredContent?.code : undefined)
}

describe('fast path and SDK', () => {
  let fast: McpServer
  let slow: McpServer
  beforeAll(async () => {
    fast = await openMcp({ fastPath: true })
    slow = await openMcp({ fastPath: false })
  })
  afterAll(() => Promise.all([fast.close(), slow.close()]))

  async function both(request: Post): Promise<Answer> {
    const [one, other] = await Promise.all([fast.post(request), slow.post(request)])
    expect(comparable(one)).toEqual(comparable(other))
    return one
  }

  it.each(CASES)('$name has status $status and code $code', async ({ status, code, ...request }) => {
    const answer = await both(request)
    expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status, code })
  })

  it('plain requests do not reach the SDK, whose responses have no content length', async () => {
    for (const request of [modernPost('tools/list'), modernCall('asyncgate.health')]) {
      const [one, other] = await Promise.all([fast.post(request), slow.post(request)])
      expect(one.headers.has('content-length')).toBe(true)
      expect(other.headers.has('content-length')).toBe(false)
    }
  })

  it('a damaged request gets the same response from both', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async (request) => {
        await both(request)
      }),
      { numRuns: 150 },
    )
  })

  it('no unexpected error occurred', () => {
    expect([...fast.errors, ...slow.errors]).toEqual([])
  })
})

const sound = fc.constantFrom(
  modernPost('tools/list'),
  modernCall('asyncgate.get_config'),
  modernCall('asyncgate.get_task', { task_id: 'none' }),
  aboutTask('tasks/get'),
  aboutTask('tasks/cancel'),
  aboutTask('tasks/update', { inputResponses: { q1: { action: 'accept', content: { a: 1 } } } }),
)

type Damage = (request: Post) => Post

const inHeader: fc.Arbitrary<Damage> = fc
  .record({
    name: fc.constantFrom('mcp-protocol-version', 'mcp-method', 'mcp-name'),
    value: fc.constantFrom(
      undefined,
      '',
      '2025-06-18',
      'tools/list',
      ' tools/call',
      'asyncgate.get_config',
      'none',
      '=?base64??=',
    ),
  })
  .map(({ name, value }) => ({ body, headers = {} }) => {
    const { [name]: _, ...rest } = headers
    return { body, headers: value === undefined ? rest : { ...rest, [name]: value } }
  })

const inBody: fc.Arbitrary<Damage> = fc
  .record({ at: fc.nat(), value: fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined }) })
  .map(({ at, value }) => (request) => ({ ...request, body: replaced(request.body, at, value) }))

const damaged = fc
  .tuple(sound, fc.array(fc.oneof(inHeader, inBody), { minLength: 1, maxLength: 2 }))
  .map(([request, damages]) => damages.reduce((request, damage) => damage(request), request))

/** The message with one member, at any depth, replaced or removed. */
function replaced(message: unknown, at: number, value: unknown): unknown {
  const count = JSON.stringify(message).split('":').length - 1
  let left = count === 0 ? -1 : at % count
  const walk = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null || Array.isArray(node)) return node
    return Object.fromEntries(
      Object.entries(node).flatMap(([key, member]) => {
        if (left-- === 0) return value === undefined ? [] : [[key, value]]
        return [[key, walk(member)]]
      }),
    )
  }
  return walk(message)
}
