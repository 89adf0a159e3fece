import { onTestFinished } from 'vitest'
import { splitIdentity } from '../../src/auth/caller.ts'
import { EmailQueue } from '../../src/email/queue.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import type { Operation } from '../../src/features/define-operation.ts'
import type { Gate } from '../../src/features/gate.ts'
import { TenantRegistries } from '../../src/gateway/upstreams/tenant-registries.ts'
import type { Store } from '../../src/store/store.ts'
import { MAIL } from '../email/settings.ts'
import { restRequest } from '../equivalence/http.ts'
import { bareCall } from '../mcp/endpoint.ts'
import { admin, agent } from '../support/gates.ts'
import { PROGRAM } from '../support/program.ts'
import { members, type Served } from './support.ts'

/** Only issued keys are accepted. */
export const CLOSED = { api_key: null, allow_insecure_dev: false }

/** One principal of each role that a key can have. */
const PRINCIPALS = {
  agent: { kind: 'agent', id: 'alice' },
  worker: { kind: 'worker', id: 'w1' },
  viewer: { kind: 'human', id: 'vera' },
  operator: { kind: 'human', id: 'olga' },
  admin: { kind: 'human', id: 'root' },
} as const
export type KeyRole = keyof typeof PRINCIPALS
export const KEY_ROLES = Object.keys(PRINCIPALS) as KeyRole[]

/** Over HTTP everyone may read it. */
export const PUBLIC = 'health'

type Fields = Readonly<Record<string, unknown>>

/** The members of the error of a response; empty if it succeeded. */
interface Outcome {
  readonly code?: unknown
  readonly details?: unknown
  readonly text: string
}

/** Calls an operation with a key over REST and over MCP. */
export function caller({ send }: Pick<Served, 'send'>, key: string) {
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

export async function keyOf({ gate }: Pick<Served, 'gate'>, role: KeyRole, tenant?: string): Promise<string> {
  return (await gate.createKey(admin(tenant), { principal: PRINCIPALS[role], role })).key
}

/** The input of the example of an operation, about these objects. */
export function inputOf({ input, example = {}, rest: { path } }: Operation, ids: Fields): Fields {
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

export const ABSENT = {
  task_id: '01234567-89ab-7def-8123-456789abcdef',
  key_id: 'none',
  name: 'none',
  id: 'none',
}

/** The name of every object of the first tenant. Callers of other tenants know it. */
const NAME = 'object-of-the-first-tenant'
/** Part of every object of the first tenant. Callers of other tenants do not know it. */
const CONTENT = 'content-of-the-first-tenant'

/** Upstreams and email, in which every tenant can have objects. */
export const SERVICES = {
  async upstreams(store: Store) {
    const registries = new TenantRegistries({
      store,
      fixed: [],
      optionsOf: () => ({ logger: { info: () => {}, warn: () => {} } }),
      report: () => {},
    })
    onTestFinished(() => registries.close())
    await registries.start()
    return registries
  },
  mail: (store: Store) => new EmailQueue({ entries: store.entries, settings: MAIL }),
}

/** An upstream and an email of the default tenant, on a gate with SERVICES. */
export async function fillServices(gate: Gate) {
  const root = admin()
  const transport = { type: 'http', url: `https://${CONTENT}.example/mcp` }
  await gate.addUpstream(root, { name: NAME, transport, enabled: false })
  const { email_id } = await gate.sendEmail(agent(), {
    to: 'gate+kee@agents.example',
    subject: CONTENT,
    body: CONTENT,
  })
  const state = async () => ({
    upstreams: (await gate.listUpstreams(root, {})).upstreams.map(({ name, transport }) => [name, transport]),
    email: await gate.getEmail(root, { email_id, include_content: false }),
  })
  return { ids: { email_id }, state }
}

/** Objects of most kinds in the default tenant: their ids, and their state as an admin of that tenant sees it. */
export async function fillTenant(gate: Gate) {
  const root = admin()
  const { task_id, receipt_id } = await gate.createTask(root, {
    type: NAME,
    payload: { content: CONTENT },
    session_id: NAME,
    idempotency_key: 'one',
  })
  await gate.putPolicy(root, { id: NAME, action: 'ALLOW', description: CONTENT })
  await gate.registerTaskType(root, { type: `${NAME}-type`, description: CONTENT })
  await gate.putRedactionPattern(root, { name: NAME, pattern: CONTENT })
  const { key_id } = await gate.createKey(root, {
    principal: { kind: 'agent', id: CONTENT },
    role: 'agent',
    name: CONTENT,
  })
  const [offer] = (await gate.leaseNext(root, { worker_id: NAME })).tasks
  const ids = {
    task_id,
    key_id,
    receipt_id,
    lease_id: offer?.lease_id,
    worker_id: NAME,
    session_id: NAME,
    id: NAME,
    name: NAME,
    type: NAME,
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
  return { ids, state }
}

interface Attempt {
  readonly operation: Operation
  readonly protocol: 'rest' | 'mcp'
  /** Whether the response shows the content of an object, which the caller did not send. */
  readonly leaks: boolean
}

/** Every operation, called by an admin of another tenant with the ids of the first one. */
export async function attemptAll(
  served: Pick<Served, 'gate' | 'send'>,
  ids: Fields,
  createdAt: string,
): Promise<Attempt[]> {
  const { rest, mcp } = caller(served, await keyOf(served, 'admin', 'other'))
  const attempts: Attempt[] = []
  for (const operation of OPERATIONS) {
    for (const [protocol, call] of [
      ['rest', rest],
      ['mcp', mcp],
    ] as const) {
      const { text } = await call(operation, inputOf(operation, ids))
      const leaks = text.includes(CONTENT) || text.includes(JSON.stringify(createdAt))
      attempts.push({ operation, protocol, leaks })
    }
  }
  return attempts
}
