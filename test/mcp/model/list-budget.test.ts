import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Caller } from '../../../src/core/principal.ts'
import { EmailQueue } from '../../../src/email/queue.ts'
import { OPERATIONS } from '../../../src/features/catalogue.ts'
import { getUsage } from '../../../src/features/usage/get-usage.ts'
import { MAIL } from '../../email/settings.ts'
import { registryOn } from '../../gateway/upstreams/support.ts'
import { personKey } from '../../support/auth-modes.ts'
import { FakeSessions, session } from '../../support/fake-sessions.ts'
import { commonMail, onlyUpstreams } from '../../support/tenants.ts'
import { type McpServer, modernCall, startMcp } from '../endpoint.ts'

const ROOT: Caller = { tenant: 'default', principal: { kind: 'human', id: 'root' }, role: 'admin' }
const ALICE: Caller = { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' }
const WORKER: Caller = { tenant: 'default', principal: { kind: 'worker', id: 'w' }, role: 'worker' }

const LIMIT = 2_000
/** More than a page, so that every first page is full. */
const COUNT = 45

const words = (n: number) => Array.from({ length: n }, (_, i) => `word${i}`).join(' ')
const uuid = (i: number) => `019b7608-1c00-7000-8000-${String(i).padStart(12, '0')}`

async function start() {
  let tenant = 0
  const server = await startMcp({
    query: '',
    parts: async (store) => {
      const upstreams = await registryOn(store)
      tenant = upstreams.tenant
      const mail = new EmailQueue({ entries: store.entries, settings: MAIL })
      return { upstreams: onlyUpstreams(upstreams), mail: commonMail(mail) }
    },
  })
  return { server, tenant }
}

/** Writes an item for each number. The list of the items needs no arguments. */
async function each(make: (i: number) => Promise<unknown>): Promise<object> {
  for (let i = 0; i < COUNT; i++) await make(i)
  return {}
}

interface List {
  readonly member: string
  readonly key: string
  readonly rows: number
  /** Writes more than a page of long items; resolves with the arguments of the list. */
  seed(server: McpServer, tenant: number): Promise<object>
}

const LISTS: Readonly<Record<string, List>> = {
  list_keys: {
    member: 'keys',
    key: 'key_id',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.createKey(ROOT, {
          principal: { kind: 'agent', id: `production-planner-${uuid(i)}` },
          role: 'agent',
          name: words(30),
          expires_at: '2099-01-01T00:00:00Z',
        }),
      ),
  },
  list_oauth_clients: {
    member: 'clients',
    key: 'client_id',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.createOauthClient(ROOT, {
          client_name: `${words(10)} ${i}`.slice(0, 100),
          redirect_uris: [`https://app.example/${uuid(i)}/callback`],
          scopes: ['tasks:read', 'tasks:write', 'tasks:lease', 'receipts:read', 'receipts:ack', 'admin:read'],
        }),
      ),
  },
  list_identities: {
    member: 'identities',
    key: 'identity_id',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.putIdentity(ROOT, {
          email: `${uuid(i)}@some-department.example.com`,
          principal: { kind: 'human', id: `production-manager-${uuid(i)}` },
          role: 'operator',
        }),
      ),
  },
  list_audit: {
    member: 'events',
    key: 'subject',
    rows: 20,
    async seed({ gate }) {
      await each(async (i) =>
        gate.audit.record({
          event: 'admin_action',
          tenant: 'default',
          principal: `human:${words(30)}`,
          subject: `production-policy-${uuid(i)}`,
          reason: words(50),
          details: { input: words(100) },
        }),
      )
      return { event: 'admin_action' }
    },
  },
  list_workers: {
    member: 'workers',
    key: 'worker_id',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.registerWorker(WORKER, {
          worker_id: `production-cluster-${uuid(i)}`,
          capabilities: words(50).split(' '),
          accept_types: words(50).split(' '),
          config: { text: words(100) },
        }),
      ),
  },
  list_sessions: {
    member: 'sessions',
    key: 'session_id',
    rows: 20,
    seed: async ({ gate }, tenant) => {
      const client = { name: `a client with ${words(30)}`, version: '1.2.3' }
      const all = Array.from({ length: COUNT }, (_, i) => ({
        ...session(uuid(i), `agent:agent-${i}`),
        client,
      }))
      FakeSessions.at(gate, tenant, all)
      return {}
    },
  },
  list_policies: {
    member: 'policies',
    key: 'id',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.putPolicy(ROOT, {
          id: `team-policy-${i}`,
          action: 'REQUIRE_APPROVAL',
          description: words(60),
          priority: i,
          scope: { type: `payments.transfer.${i}`, principal: 'agent:planner' },
          condition: { '>': [{ var: 'args.amount' }, 100] },
        }),
      ),
  },
  list_redaction_patterns: {
    member: 'patterns',
    key: 'name',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.putRedactionPattern(ROOT, {
          name: `internal-number-${i}`,
          pattern: `\\b(${words(20).replaceAll(' ', '|')})-\\d{3,4}\\b`,
          description: words(60),
        }),
      ),
  },
  list_upstreams: {
    member: 'upstreams',
    key: 'name',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.addUpstream(ROOT, {
          name: `documentation-search-${i}`,
          transport: { type: 'http', url: `https://host-${i}.example.com/${words(20).replaceAll(' ', '/')}` },
          tools: { deny: words(50).split(' ') },
          enabled: false,
        }),
      ),
  },
  list_emails: {
    member: 'emails',
    key: 'email_id',
    rows: 15,
    seed: ({ gate }) =>
      each(async (i) => {
        const { task_id } = await gate.createTask(ALICE, { type: 'x' })
        const to = 'gate+bob@agents.example'
        await gate.sendEmail(ALICE, { to, subject: `${i} ${words(40)}`, body: words(200), task_id })
      }),
  },
  list_logs: {
    member: 'lines',
    key: 'text',
    rows: 20,
    seed: async ({ gate }) => {
      const { task_id } = await gate.createTask(ALICE, { type: 'x' })
      const { tasks } = await gate.leaseNext(WORKER, { worker_id: 'w' })
      const lease = { worker_id: 'w', task_id, lease_id: tasks[0]?.lease_id }
      const line = (i: number) => ({
        level: 'warn',
        text: `${i} ${words(100)}`,
        context: { text: words(20) },
      })
      await gate.appendLogs(WORKER, { ...lease, lines: Array.from({ length: COUNT }, (_, i) => line(i)) })
      return { task_id }
    },
  },
  list_children: {
    member: 'children',
    key: 'task_id',
    rows: 20,
    seed: async ({ gate }) => {
      const { task_id } = await gate.createTask(ALICE, { type: 'x' })
      await each((i) => gate.createTask(ALICE, { type: `part.${i}`, parent_task_id: task_id }))
      return { task_id }
    },
  },
  list_receipts_ledger: {
    member: 'receipts',
    key: 'receipt_id',
    rows: 15,
    seed: async ({ gate }) => {
      await each((i) => gate.createTask(ALICE, { type: 'x', summary: `${i} ${words(50)}`, body: words(200) }))
      return { receipt_type: 'task.assigned' }
    },
  },
  list_task_types: {
    member: 'task_types',
    key: 'type',
    rows: 20,
    seed: ({ gate }) =>
      each((i) =>
        gate.registerTaskType(ROOT, {
          type: `documents.translate.${i}`,
          description: words(200),
          payload_schema: {
            type: 'object',
            required: ['document'],
            properties: { document: { type: 'string', description: words(100) } },
          },
        }),
      ),
  },
  list_approvals: {
    member: 'approvals',
    key: 'task_id',
    rows: 20,
    seed: async ({ gate }) => {
      await gate.putPolicy(ROOT, { id: 'ask', action: 'REQUIRE_APPROVAL', description: words(50) })
      return each((i) =>
        gate.createTask(ALICE, {
          type: 'payments.transfer',
          summary: `${i} ${words(50)}`,
          payload: { text: words(200) },
        }),
      )
    },
  },
}

const Text = z.looseObject({ content: z.tuple([z.looseObject({ text: z.string() })]) })

async function textOf(server: McpServer, name: string, args: object): Promise<string> {
  const headers = { authorization: `Bearer ${personKey('root')}` }
  const { body } = await server.post(modernCall(`asyncgate_${name}`, args, headers))
  const { text } = Text.parse(body?.result).content[0]
  expect(body?.result?.isError, text).not.toBe(true)
  return text
}

it.each(Object.entries(LISTS))(
  'every page of %s fits, and the pages contain every item once',
  async (name, list) => {
    const { server, tenant } = await start()
    const args = await list.seed(server, tenant)
    const seen: unknown[] = []
    let page: object = {}
    do {
      const text = await textOf(server, name, { ...args, ...page })
      expect(countTokens(text), text).toBeLessThanOrEqual(LIMIT)
      const { [list.member]: rows, next_cursor } = JSON.parse(text)
      if (seen.length === 0) expect(rows).toHaveLength(list.rows)
      seen.push(
        ...z
          .array(z.looseObject({ [list.key]: z.string() }))
          .parse(rows)
          .map((row) => row[list.key]),
      )
      page =
        next_cursor === null
          ? {}
          : name === 'list_receipts_ledger'
            ? { since_receipt_id: next_cursor }
            : { cursor: next_cursor }
    } while (Object.keys(page).length > 0)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBeGreaterThanOrEqual(COUNT)
  },
)

it('every list has short rows for models', () => {
  const lists = OPERATIONS.filter(({ name }) => name.startsWith('list_'))
  expect(lists.filter(({ summary }) => summary === undefined).map(({ name }) => name)).toEqual([])
})

it('the usage of a month fits, with its newest rows', () => {
  const counts = {
    tasks: 123_456,
    lease_hours: 1234.567891,
    receipt_byte_hours: 987654321.123456,
    calls: 654_321,
  }
  const days = Array.from({ length: 31 }, (_, i) => `2026-01-${String(i + 1).padStart(2, '0')}T00:00:00.000Z`)
  const usage = {
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-02-01T00:00:00.000Z',
    granularity: 'day' as const,
    totals: counts,
    receipt_bytes: 123_456_789,
    rows: days.map((from) => ({ from, ...counts })),
  }
  const short = getUsage.summary?.of(usage, 0)
  expect(countTokens(JSON.stringify(short))).toBeLessThanOrEqual(LIMIT)
  expect(short).toMatchObject({ omitted_rows: 11, rows: usage.rows.slice(11), totals: counts })
})
