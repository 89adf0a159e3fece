import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { STATUSES } from '../../../src/core/transitions.ts'
import { OPERATIONS } from '../../../src/features/catalogue.ts'
import { instructions } from '../../../src/mcp/server.ts'
import { contentOf, startMcp } from '../endpoint.ts'

const Leases = z.array(z.object({ task_id: z.string(), lease_id: z.string() }))

const Tools = z.array(
  z.looseObject({
    name: z.string(),
    description: z.string(),
    inputSchema: z.looseObject({ type: z.literal('object'), properties: z.record(z.string(), z.unknown()) }),
    outputSchema: z.looseObject({ type: z.literal('object') }),
    annotations: z.object({
      readOnlyHint: z.boolean(),
      destructiveHint: z.boolean(),
      idempotentHint: z.boolean(),
      openWorldHint: z.literal(false),
    }),
  }),
)

async function list() {
  const server = await startMcp()
  const { body } = await server.modern('tools/list')
  return { result: body?.result, tools: Tools.parse(body?.result?.tools) }
}

describe('tool list', () => {
  it('the list matches its pin (if the change is intended, run with -u)', async () => {
    const { tools } = await list()
    await expect(`${JSON.stringify(tools, null, 2)}\n`).toMatchFileSnapshot('../../pins/tools.json')
  })

  it('the list contains every operation with its annotations', async () => {
    const { tools } = await list()
    expect(tools.map(({ name, annotations }) => [name, annotations.readOnlyHint])).toEqual(
      OPERATIONS.map(({ name, effect }) => [`asyncgate_${name}`, effect.readOnly]),
    )
  })

  it('the list has a cache hint with a private scope', async () => {
    const { result } = await list()
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' })
  })

  it('every tool accepts the identity of the caller', async () => {
    const { tools } = await list()
    for (const { name, inputSchema } of tools) {
      const names = Object.keys(inputSchema.properties)
      const identity = names.includes('worker_kind') ? ['worker_instance_id'] : ['agent_id', 'principal_id']
      expect(names, name).toEqual(
        expect.arrayContaining([...identity, 'auth_token', 'tenant_id', 'trace_id']),
      )
    }
  })
})

it('a batch operation is executed as the worker that its items name', async () => {
  const server = await startMcp()
  await server.call('asyncgate.create_tasks', { tasks: [{ type: 'x' }, { type: 'x' }], agent_id: 'a' })
  const leased = contentOf(await server.call('asyncgate.lease_next', { worker_id: 'w', max_tasks: 2 }))
  const items = Leases.parse(leased.tasks).map((lease) => ({ worker_id: 'w', ...lease }))
  const renewed = contentOf(await server.call('asyncgate.renew_many', { items }))
  expect(renewed).toMatchObject({ results: [{ ok: true }, { ok: true }] })
  const [first, second] = items.map((item) => ({ ...item, result: {} }))
  const completed = await server.call('asyncgate.complete_many', {
    items: [first, { ...second, worker_id: 'v' }],
  })
  expect(contentOf(completed)).toMatchObject({
    results: [{ ok: true }, { code: 'LEASE_INVALID_OR_EXPIRED' }],
  })
})

it('the instructions mention only existing tools and fields', () => {
  const known = new Set([
    ...OPERATIONS.flatMap(({ name, input }) => [name, ...Object.keys(input.shape)]),
    ...STATUSES,
  ])
  const named = instructions((name) => name).match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []
  expect(named.filter((word) => !known.has(word))).toEqual([])
  expect(named).toEqual(expect.arrayContaining(['create_task', 'wait_for_task', 'ack_receipt']))
  expect(instructions((name) => name).split(/\s+/).length).toBeLessThanOrEqual(200)
})
