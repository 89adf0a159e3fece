import { expect, it, vi } from 'vitest'
import { splitIdentity } from '../../src/auth/caller.ts'
import { PERMISSIONS } from '../../src/core/authorization.ts'
import type { Role } from '../../src/core/principal.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import type { Operation } from '../../src/features/define-operation.ts'
import { restRequest } from '../equivalence/http.ts'
import { bareCall } from '../mcp/endpoint.ts'
import { admin, describeGates } from '../support/gates.ts'
import { PROGRAM } from '../support/program.ts'
import { members, type Served, servers } from './support.ts'

vi.setConfig({ testTimeout: 60_000 })

/** Only issued keys are accepted. */
const CLOSED = { api_key: null, allow_insecure_dev: false }

/** One principal of each role that a key can have. */
const PRINCIPALS = {
  agent: { kind: 'agent', id: 'alice' },
  worker: { kind: 'worker', id: 'w1' },
  viewer: { kind: 'human', id: 'vera' },
  operator: { kind: 'human', id: 'olga' },
  admin: { kind: 'human', id: 'root' },
} as const
type KeyRole = keyof typeof PRINCIPALS
const KEY_ROLES = Object.keys(PRINCIPALS) as KeyRole[]

/** Over HTTP everyone may read it. */
const PUBLIC = 'health'

type Fields = Readonly<Record<string, unknown>>

/** The members of the error of a response; empty if it succeeded. */
interface Outcome {
  readonly code?: unknown
  readonly details?: unknown
  readonly text: string
}

/** Calls an operation with a key over REST and over MCP. */
function caller({ send }: Served, key: string) {
  const authorization = `Bearer ${key}`
  return {
    async rest(operation: Operation, input: Fields): Promise<Outcome> {
      const { method, path, body } = restRequest(operation, input)
      const { text, body: answer } = await send(method, path, body, { authorization })
      return { code: answer.code, details: answer.details, text }
    },
    async mcp(operation: Operation, input: Fields): Promise<Outcome> {
      const { body } = bareCall(`asyncgate.${operation.name}`, input)
      const accept = 'application/json'
      const answer = await send('POST', `/mcp${PROGRAM}`, body, { authorization, accept })
      const { isError, structuredContent } = members(answer.body.result)
      const { code, details } = isError === true ? members(structuredContent) : {}
      return { code, details, text: answer.text }
    },
  }
}

async function keyOf({ gate }: Served, role: KeyRole, tenant?: string): Promise<string> {
  return (await gate.createKey(admin(tenant), { principal: PRINCIPALS[role], role })).key
}

/** The input of the example of an operation, about these objects. */
function inputOf({ input, example = {}, rest: { path } }: Operation, ids: Fields): Fields {
  const { rest } = splitIdentity(example, (name) => name in input.shape)
  const named = Object.entries(ids).filter(([name]) => name in input.shape)
  const { principal_id: _, principal_kind: __, ...about } = rest
  const inPath = Object.fromEntries(
    Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => [name, ABSENT.task_id]),
  )
  return {
    ...inPath,
    ...about,
    ...Object.fromEntries(named),
    ...('wait_seconds' in input.shape && { wait_seconds: 0 }),
  }
}

const ABSENT = { task_id: '01234567-89ab-7def-8123-456789abcdef', key_id: 'none', name: 'none', id: 'none' }

describeGates('access with issued keys', (open) => {
  const serve = servers(open)

  it.each(KEY_ROLES)(
    'over REST and MCP the role %s may call exactly the operations that list it',
    async (role) => {
      const served = await serve({ auth: CLOSED, realTime: true })
      const { rest, mcp } = caller(served, await keyOf(served, role))
      for (const operation of OPERATIONS) {
        const { name, access } = operation
        const allowed: readonly Role[] = PERMISSIONS[access].roles
        for (const [protocol, call] of Object.entries({ rest, mcp })) {
          const { code, details } = await call(operation, inputOf(operation, ABSENT))
          const what = `${name} over ${protocol}`
          expect(code, what).not.toBe('UNAUTHENTICATED')
          const isRefused = code === 'FORBIDDEN' && 'required_role' in members(details)
          if (name !== PUBLIC || protocol === 'mcp') expect(isRefused, what).toBe(!allowed.includes(role))
        }
      }
    },
  )

  it('an admin of another tenant reads and changes nothing, whatever ids they name', async () => {
    const served = await serve({ auth: CLOSED, realTime: true })
    const { gate } = served
    const marker = 'known-only-to-the-first-tenant'
    const root = admin()
    const { task_id, receipt_id } = await gate.createTask(root, {
      type: marker,
      payload: { marker },
      session_id: marker,
      idempotency_key: 'one',
    })
    await gate.putPolicy(root, { id: marker, action: 'ALLOW', description: marker })
    await gate.registerTaskType(root, { type: `${marker}-type`, description: marker })
    await gate.putRedactionPattern(root, { name: marker, pattern: marker })
    const { key_id } = await gate.createKey(root, {
      principal: { kind: 'agent', id: marker },
      role: 'agent',
      name: marker,
    })
    const [offer] = (await gate.leaseNext(root, { worker_id: marker })).tasks
    const ids = {
      task_id,
      key_id,
      receipt_id,
      lease_id: offer?.lease_id,
      worker_id: marker,
      session_id: marker,
      id: marker,
      name: marker,
      type: marker,
      task_ids: [task_id],
      receipt_ids: [receipt_id],
    }
    const state = async () => ({
      task: await gate.peekTask(root, { task_id }),
      policies: (await gate.listPolicies(root, {})).policies,
      patterns: (await gate.listRedactionPatterns(root, {})).patterns,
      types: (await gate.listTaskTypes(root, {})).task_types.map(({ type }) => type),
      key: await gate.getKey(root, { key_id }),
      receipts: (await gate.listReceipts(root, { task_id })).receipts,
    })
    const before = await state()
    const { rest, mcp } = caller(served, await keyOf(served, 'admin', 'other'))
    for (const operation of OPERATIONS) {
      for (const call of [rest, mcp]) {
        const { text } = await call(operation, inputOf(operation, ids))
        // The caller knows what it has sent, but nothing else of the object.
        const own = JSON.stringify(before.task.created_at)
        expect(text, operation.name).not.toContain(`"marker":"${marker}"`)
        expect(text, operation.name).not.toContain(own)
      }
      const { code } = await rest(operation, { ...inputOf(operation, ids), tenant_id: 'default' })
      if (operation.name !== PUBLIC) expect(code, operation.name).toBe('FORBIDDEN')
    }
    expect(await state()).toEqual(before)
  })
})
