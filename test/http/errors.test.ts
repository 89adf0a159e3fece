import { expect, it } from 'vitest'
import { z } from 'zod'
import { AccessTokens } from '../../src/auth/access-tokens.ts'
import { RemoteIssuer } from '../../src/auth/remote-issuer.ts'
import { OWN_CLAIMS } from '../../src/auth/token-claims.ts'
import { ERRORS, type ErrorCode, Fault } from '../../src/core/errors.ts'
import type { Settings } from '../../src/core/settings.ts'
import { EmailQueue } from '../../src/email/queue.ts'
import type { ArchiveStore } from '../../src/features/retention/port.ts'
import { type Store, StoreError } from '../../src/store/store.ts'
import { MAIL } from '../email/settings.ts'
import { FakeSessions } from '../support/fake-sessions.ts'
import { describeGates } from '../support/gates.ts'
import { at, override } from '../support/steps.ts'
import {
  type Answer,
  createTask,
  heldTask,
  KEY,
  members,
  ROOT,
  type Served,
  type ServeOptions,
  servers,
  textOf,
} from './support.ts'
import { openUpstreams, WIKI } from './upstream-checks.ts'

const ALICE = { principal_id: 'alice' }
const person = (id: string) => ({ principal_kind: 'human', principal_id: id })
const ABSENT = '01976d7a-31c0-7c4e-9f6b-0d5a3f1e2b4c'

const receiptList = z.object({ receipts: z.array(z.object({ receipt_id: z.string() })) })

const NO_FILES: ArchiveStore = {
  kind: 'disk',
  put: async () => {},
  get: async () => undefined,
  remove: async () => {},
}

/** Every receipt is said to be in a file that does not exist. */
function withoutArchive(store: Store): Store {
  const file = { file: 'f'.repeat(64), tasks: 1, receipts: 1, created_at: 0 }
  return override(store, {
    reads: { ...store.reads, receipt: async () => undefined },
    retention: {
      ...store.retention,
      archiveWith: async (tenant, seq) => ({
        ...file,
        tenant,
        first: seq,
        last: seq,
        runs: [{ first: seq, last: seq }],
      }),
    },
  })
}

interface Case {
  readonly code: ErrorCode
  readonly settings?: Partial<Settings>
  readonly serve?: ServeOptions
  provoke(served: Served): Promise<Answer>
  /** Fields of the body besides those of every error. */
  readonly body?: object
}

const ISSUER = 'https://id.example'

/** Tokens of an issuer that cannot be reached. */
function unreachableIssuer(): ServeOptions {
  const issuer = new RemoteIssuer({
    issuer: ISSUER,
    claims: OWN_CLAIMS,
    tenant: null,
    fetchJson: () => Promise.reject(new Error('connection refused')),
    onError: () => {},
  })
  return { tokens: new AccessTokens({ issuer, audiences: () => [] }) }
}

/** A store whose commits fail with the error in `broken`. */
function breaking(broken: { error?: unknown }): ServeOptions {
  return {
    wrap: (store: Store) =>
      override(store, {
        commit: (need, decide) =>
          broken.error === undefined ? store.commit(need, decide) : Promise.reject(broken.error),
      }),
  }
}

function failing(code: ErrorCode, error: unknown): Case {
  const broken: { error?: unknown } = {}
  return {
    code,
    serve: breaking(broken),
    provoke({ post }) {
      broken.error = error
      return post('/v1/tasks', { ...ALICE, type: 'job' })
    },
  }
}

/** Fetches a result that is in a channel. */
async function storedResult(served: Served): Promise<Answer> {
  const { task_id, ...held } = await heldTask(served)
  const artifact = { channel: 'blob', pointer: 'blob:x' }
  await served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: artifact, artifacts: [artifact] })
  return served.get(`/v1/tasks/${task_id}/result/content`, ALICE)
}

/** A channel that fails with this error. */
function stored(code: ErrorCode): Case {
  const fail = () => Promise.reject(new Fault(code))
  const results = { channelOf: () => 'blob', has: () => true, put: fail, get: fail, ack: fail }
  return { code, serve: { results }, provoke: storedResult }
}

const NOTE = { ...ALICE, to: 'gate+bob@agents.example', subject: 'A note', body: 'Hello' }
const MAILING: ServeOptions = {
  mail: (store) => new EmailQueue({ entries: store.entries, settings: { ...MAIL, mail_max_per_hour: 1 } }),
}

const CASES: readonly Case[] = [
  {
    code: 'VALIDATION_ERROR',
    provoke: ({ post }) => post('/v1/tasks', { ...ALICE, type: 'job', priority: 'high' }),
    body: { details: { path: 'priority' } },
  },
  {
    code: 'VALIDATION_ERROR',
    provoke: ({ get }) => get('/v1/usage', { ...ROOT, from: '2999-01-01T00:00:00Z' }),
    body: { details: { path: 'from' } },
  },
  {
    code: 'UNAUTHENTICATED',
    serve: { auth: { api_key: KEY, allow_insecure_dev: false } },
    provoke: ({ get }) => get('/v1/tasks', ALICE),
  },
  {
    code: 'FORBIDDEN',
    provoke: ({ post }) => post('/v1/tasks', { principal_kind: 'worker', principal_id: 'w1', type: 'job' }),
    body: { required_role: 'agent', your_role: 'worker' },
  },
  {
    code: 'FORBIDDEN',
    async provoke(served) {
      const task_id = await createTask(served)
      return served.get(`/v1/tasks/${task_id}`, { principal_id: 'mallory' })
    },
    body: { required_role: 'admin', your_role: 'agent' },
  },
  {
    code: 'FORBIDDEN',
    provoke: ({ get }) => get('/v1/tasks', { ...ALICE, tenant_id: 'another' }),
  },
  { code: 'TASK_NOT_FOUND', provoke: ({ get }) => get(`/v1/tasks/${ABSENT}`, ALICE) },
  { code: 'TASK_NOT_FOUND', provoke: ({ get }) => get('/v1/tasks/no-such-thing', ALICE) },
  {
    code: 'SCHEDULE_NOT_FOUND',
    provoke: ({ post }) =>
      post('/v1/schedules/none/stale', { worker_id: 'w1', next_run_at: '2026-01-01T00:00:00Z' }),
  },
  { code: 'RECEIPT_NOT_FOUND', provoke: ({ get }) => get(`/v1/receipts/${ABSENT}`, ALICE) },
  { code: 'TASK_TYPE_UNKNOWN', provoke: ({ get }) => get('/v1/task-types/nothing') },
  {
    code: 'TASK_TYPE_UNKNOWN',
    settings: { allow_unknown_task_types: false },
    provoke: ({ post }) => post('/v1/tasks', { ...ALICE, type: 'job' }),
    body: { details: { type: 'job' } },
  },
  {
    code: 'TASK_TYPE_DISABLED',
    async provoke({ post }) {
      await post('/v1/task-types', { ...ROOT, type: 'job', enabled: false })
      return post('/v1/tasks', { ...ALICE, type: 'job' })
    },
  },
  { code: 'WORKER_NOT_FOUND', provoke: ({ post }) => post('/v1/workers/unknown/drain', ROOT) },
  {
    code: 'NOT_CONFIGURED',
    provoke: ({ post }) => post('/v1/emails', NOTE),
    body: { details: { settings: ['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_SMTP_URL'] } },
  },
  { code: 'EMAIL_NOT_FOUND', serve: MAILING, provoke: ({ get }) => get(`/v1/emails/${ABSENT}`, ALICE) },
  {
    code: 'RECIPIENT_NOT_ALLOWED',
    serve: MAILING,
    provoke: ({ post }) => post('/v1/emails', { ...NOTE, to: 'other@example.com' }),
  },
  {
    code: 'RATE_LIMIT_EXCEEDED',
    serve: MAILING,
    async provoke({ post }) {
      await post('/v1/emails', NOTE)
      return post('/v1/emails', NOTE)
    },
  },
  { code: 'NOT_FOUND', provoke: ({ get }) => get('/v1/nothing') },
  { code: 'METHOD_NOT_ALLOWED', provoke: ({ send }) => send('DELETE', '/v1/tasks') },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    provoke: ({ post }) => post('/v1/tasks', 'type=job', { 'content-type': 'text/plain' }),
  },
  { code: 'LEASE_NOT_FOUND', provoke: ({ post }) => post(`/lease/${ABSENT}/heartbeat`, {}) },
  {
    code: 'LEASE_INVALID_OR_EXPIRED',
    async provoke(served) {
      const held = await heldTask(served)
      await served.post(`/v1/tasks/${held.task_id}/cancel`, ALICE)
      return served.post('/v1/leases/renew', held)
    },
    body: { details: { task_status: 'canceled' } },
  },
  {
    code: 'INVALID_STATE_TRANSITION',
    provoke: async (served) => served.post(`/v1/tasks/${await createTask(served)}/retry`, ALICE),
    body: { details: { task_status: 'queued' } },
  },
  {
    code: 'LEASE_RENEWAL_LIMIT_EXCEEDED',
    settings: { max_lease_renewals: 0 },
    provoke: async (served) => served.post('/v1/leases/renew', await heldTask(served)),
  },
  {
    code: 'LEASE_LIFETIME_EXCEEDED',
    settings: { max_lease_lifetime_seconds: 120 },
    provoke: async (served) => served.post('/v1/leases/renew', await heldTask(served)),
  },
  {
    code: 'IDEMPOTENCY_CONFLICT',
    async provoke(served) {
      await createTask(served, { idempotency_key: 'k' })
      return served.post('/v1/tasks', { ...ALICE, type: 'other', idempotency_key: 'k' })
    },
  },
  {
    code: 'RESULT_CONFLICT',
    async provoke(served) {
      const { task_id, ...held } = await heldTask(served)
      await served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1, artifacts: [{ a: 1 }] })
      return served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 2, artifacts: [{ a: 1 }] })
    },
  },
  {
    code: 'RESULT_NOT_FOUND',
    provoke: async (served) => served.get(`/v1/tasks/${await createTask(served)}/result/content`, ALICE),
    body: { details: { task_status: 'queued' } },
  },
  stored('RESULT_CORRUPT'),
  stored('CHANNEL_UNAVAILABLE'),
  {
    code: 'ARCHIVE_UNAVAILABLE',
    serve: { wrap: withoutArchive, retention: { archive: NO_FILES } },
    async provoke(served) {
      const { body } = await served.get('/v1/receipts', { ...ALICE, task_id: await createTask(served) })
      const { receipt_id } = at(receiptList.parse(body).receipts, 0)
      return served.get(`/v1/receipts/${receipt_id}`, ALICE)
    },
    body: { details: { file: 'f'.repeat(64) } },
  },
  {
    code: 'CHANNEL_NOT_CONFIGURED',
    provoke: storedResult,
    body: { details: { channel: 'blob', pointer: 'blob:x' } },
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    settings: { max_payload_bytes: 100 },
    provoke: ({ post }) => post('/v1/tasks', { ...ALICE, type: 'job', payload: 'x'.repeat(200) }),
  },
  {
    code: 'RECEIPT_TOO_LARGE',
    async provoke(served) {
      const { task_id, ...held } = await heldTask(served)
      const large = { note: 'x'.repeat(40_000) }
      const delivery_proof = { mode: 'push', target: 'https://example.com/webhook', proof: large }
      const evidence = { artifacts: [large], delivery_proof }
      return served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1, ...evidence })
    },
  },
  {
    code: 'TOO_MANY_ARTIFACTS',
    async provoke(served) {
      const { task_id, ...held } = await heldTask(served)
      const artifacts = Array.from({ length: 101 }, (_, n) => ({ n }))
      return served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1, artifacts })
    },
  },
  {
    code: 'LOCATABILITY_REQUIRED',
    settings: { locatability: 'strict' },
    async provoke(served) {
      const { task_id, ...held } = await heldTask(served)
      return served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1 })
    },
  },
  {
    code: 'PARENT_NOT_FOUND',
    provoke: ({ post }) => post('/v1/tasks', { ...ALICE, type: 'job', caused_by_receipt_id: ABSENT }),
  },
  {
    code: 'QUOTA_EXCEEDED',
    settings: { max_active_tasks: 1 },
    async provoke(served) {
      await createTask(served)
      return served.post('/v1/tasks', { ...ALICE, type: 'job' })
    },
  },
  {
    code: 'OVERLOADED',
    settings: { max_pending_commands: 0 },
    provoke: ({ post }) => post('/v1/tasks', { ...ALICE, type: 'job' }),
  },
  {
    code: 'UPSTREAM_NOT_FOUND',
    serve: { upstreams: openUpstreams },
    provoke: ({ get }) => get('/v1/upstreams/none', ROOT),
  },
  {
    code: 'UPSTREAM_TOOL_NOT_FOUND',
    serve: { upstreams: openUpstreams },
    async provoke({ post }) {
      await post('/v1/upstreams', { ...ROOT, ...WIKI })
      return post('/v1/upstreams/wiki/accept', { ...ROOT, tool: 'none', hash: '0'.repeat(64) })
    },
  },
  {
    code: 'ALREADY_DECIDED',
    async provoke(served) {
      const { task_id, ...held } = await heldTask(served)
      const question = { kind: 'approval', request: { title: 'May I?' } }
      await served.post(`/v1/tasks/${task_id}/ask`, { ...held, ...question })
      await served.post(`/v1/approvals/${task_id}/approve`, person('maria'))
      return served.post(`/v1/approvals/${task_id}/deny`, { ...person('paul'), reason: 'No' })
    },
    body: { details: expect.objectContaining({ state: 'approved' }) },
  },
  {
    code: 'CONTENT_CHANGED',
    async provoke(served) {
      const { task_id, ...held } = await heldTask(served)
      const question = { kind: 'approval', request: { title: 'May I?' } }
      await served.post(`/v1/tasks/${task_id}/ask`, { ...held, ...question })
      return served.post(`/v1/approvals/${task_id}/approve`, {
        ...person('maria'),
        content_hash: 'sha256:of-something-else',
      })
    },
    body: { details: expect.objectContaining({ content_hash: expect.stringMatching(/^sha256:/) }) },
  },
  {
    code: 'QUESTION_NOT_FOUND',
    async provoke(served) {
      return served.post(`/v1/approvals/${await createTask(served)}/approve`, person('maria'))
    },
  },
  {
    code: 'POLICY_BLOCKED',
    async provoke({ post }) {
      await post('/v1/policies', { ...ROOT, id: 'no-jobs', scope: { type: 'job' }, action: 'BLOCK' })
      return post('/v1/tasks', { ...ALICE, type: 'job' })
    },
    body: { details: expect.objectContaining({ rule_id: 'no-jobs' }) },
  },
  { code: 'BULK_OPERATION_NOT_FOUND', provoke: ({ get }) => get('/v1/bulk-operations/none', ROOT) },
  { code: 'ERASURE_NOT_FOUND', provoke: ({ get }) => get('/v1/principals/human/carol/erasure', ROOT) },
  { code: 'CLIENT_NOT_FOUND', provoke: ({ post }) => post('/v1/oauth/clients/none/remove', ROOT) },
  { code: 'IDENTITY_NOT_FOUND', provoke: ({ post }) => post('/v1/identities/none/remove', ROOT) },
  {
    code: 'IDENTITY_TAKEN',
    async provoke({ gate, post }) {
      const identity = { email: 'taken@example.com', principal: { kind: 'human', id: 'ann' }, role: 'admin' }
      await gate.putIdentity(
        { tenant: 'other', principal: { kind: 'human', id: 'ann' }, role: 'admin' },
        identity,
      )
      return post('/v1/identities', { ...ROOT, ...identity })
    },
  },
  { code: 'KEY_NOT_FOUND', provoke: ({ get }) => get('/v1/keys/none', ROOT) },
  {
    code: 'KEY_NOT_ACTIVE',
    async provoke({ post }) {
      const principal = { kind: 'agent', id: 'planner' }
      const key_id = textOf(await post('/v1/keys', { ...ROOT, principal, role: 'agent' }), 'key_id')
      await post(`/v1/keys/${key_id}/revoke`, ROOT)
      return post(`/v1/keys/${key_id}/rotate`, ROOT)
    },
    body: { details: { key_id: expect.any(String), state: 'revoked' } },
  },
  { code: 'POLICY_NOT_FOUND', provoke: ({ get }) => get('/v1/policies/none', ROOT) },
  {
    code: 'SESSION_NOT_FOUND',
    async provoke(served) {
      FakeSessions.at(served.gate, (await served.store.tenant('default')).tenant)
      return served.get('/v1/sessions/none')
    },
  },
  {
    code: 'ISSUER_UNAVAILABLE',
    serve: unreachableIssuer(),
    provoke({ send }) {
      const claims = Buffer.from(JSON.stringify({ iss: ISSUER })).toString('base64url')
      return send('GET', '/v1/tasks', undefined, { authorization: `Bearer eyJ9.${claims}.x` })
    },
  },
  failing('DATABASE_UNAVAILABLE', new StoreError('unavailable', 'connection refused')),
  failing('OUTCOME_UNKNOWN', new StoreError('unknown', 'connection lost')),
  failing('INTERNAL_ERROR', new Error('INSERT INTO secrets failed at /src/store.ts')),
]

/** Codes that no request to these servers can cause. test/cli/ledger-waiting.test.ts covers those of ReceiptGate. */
const OUT_OF_REACH: readonly string[] = [
  'LEDGER_REFUSED',
  'LEDGER_UNAVAILABLE',
  'TOO_MANY_PARENTS',
  'PARENT_REQUIRED',
  'MEMORY_REFUSED',
  'MEMORY_UNAVAILABLE',
  'MCP_SESSION_NOT_FOUND',
  'MCP_RESPONSE_NOT_FOUND',
  'READ_NOT_DONE',
  'SESSION_LIMIT_EXCEEDED',
  'UPSTREAM_OUTCOME_UNKNOWN',
  'UPSTREAM_REFUSED',
  'UPSTREAM_RESULT_TOO_LARGE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_TOOL_QUARANTINED',
  'UPSTREAM_UNAVAILABLE',
]

describeGates(
  'REST errors',
  (open) => {
    const serve = servers(open)

    it.each(CASES)('$code has its status and body', async ({ code, settings, serve: options, ...rest }) => {
      const served = await serve({ ...options, ...(settings && { settings }) })
      const answer = await rest.provoke(served)
      const { http, hint, retryable } = ERRORS[code]
      expect(answer.status).toBe(http)
      expect(answer.headers['content-type']).toBe('application/json')
      expect(answer.body).toMatchObject({
        error: code.toLowerCase(),
        code,
        message: expect.any(String),
        hint,
        retryable,
        request_id: answer.headers['x-request-id'],
        ...rest.body,
      })
      const { retry_after_seconds: after = 1 } = members(answer.body.details)
      expect(answer.headers['retry-after']).toBe(retryable ? String(after) : undefined)
      for (const secret of ['INSERT', 'secrets', '.ts', 'refused', 'stack']) {
        expect(answer.text).not.toContain(secret)
      }
    })

    it('every error code of this version is covered', () => {
      const provoked = CASES.map(({ code }) => code)
      expect([...new Set([...provoked, ...OUT_OF_REACH])].toSorted()).toEqual(Object.keys(ERRORS).toSorted())
    })

    it('the response to a wrong method names the allowed methods', async () => {
      const { send } = await serve()
      expect((await send('PUT', '/v1/tasks')).headers.allow).toBe('GET, POST')
      expect((await send('GET', '/v1/leases/claim')).headers.allow).toBe('POST')
      expect((await send('POST', `/v1/tasks/${ABSENT}`, {})).headers.allow).toBe('GET')
      expect((await send('POST', '/health')).headers.allow).toBe('GET')
    })
  },
  ['sqlite'],
)
