import { z } from 'zod'
import { scopeConflict } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import {
  type Caller,
  isReserved,
  PRINCIPAL_KINDS,
  type Principal,
  principalKey,
} from '../../core/principal.ts'
import { SCOPES } from '../../core/scopes.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { defineOperation, ENDS, WRITES } from '../define-operation.ts'
import { nextCursor, ONE_YEAR, principalShape, seconds, text, time, withoutNulls } from '../input.ts'
import { idPage, pageById } from '../page.ts'
import { line, summaryView } from '../summary.ts'
import { KEY_PREFIXES } from './format.ts'
import { type KeyDraft, type Keys, type NewKey, noSuchKey } from './keys.ts'
import { KEY_ROLES, keyState, type StoredKey } from './record.ts'

const DEFAULT_OVERLAP_SECONDS = 24 * 3600

const keyId = text(64).describe('Id of the key, the part that is not secret')

const keyShape = z.object({
  key_id: z.string().describe('Id of the key'),
  prefix: z.enum(KEY_PREFIXES).describe('How the key begins: aga, or agw for workers'),
  name: z.string().nullable().describe('What the key is for'),
  tenant_id: z.string().describe('The tenant of the key'),
  principal: principalShape.describe('The principal that every request with the key comes from'),
  role: z.enum(KEY_ROLES).describe('The role of the principal'),
  scopes: z
    .array(z.enum(SCOPES))
    .nullable()
    .describe('What the key is limited to; null: everything that the role allows'),
  capabilities: z
    .array(z.string())
    .nullable()
    .describe('The only capabilities with which the key can claim tasks; null: any'),
  state: z.enum(['active', 'expired', 'revoked']).describe('Whether the key is valid'),
  created_at: time.describe('When the key was created'),
  created_by: z.string().describe('The principal that created the key'),
  expires_at: time.nullable().describe('When the key expires; null if it never does'),
  revoked_at: time.nullable().describe('When the key was revoked; null if it was not'),
  revoked_by: z
    .string()
    .nullable()
    .describe('The principal that revoked the key; null if it was not revoked'),
  replaced_by: z.string().nullable().describe('Id of the key that replaces it; null if it was not rotated'),
  last_used_at: time
    .nullable()
    .describe('When the key was last used, to within a minute; null if it was never used'),
})

export type KeyView = z.output<typeof keyShape>

const newKeyShape = keyShape.extend({
  key: z.string().describe('The key. It is shown only here: store it now'),
})

const keyRowShape = z.object({
  key_id: keyShape.shape.key_id,
  principal: z.string().describe('The principal of the key, as kind:id'),
  role: keyShape.shape.role,
  state: keyShape.shape.state,
  expires_at: z.string().optional().describe('When the key expires'),
  last_used_at: z.string().optional().describe('When the key was last used'),
  name: z.string().optional().describe('What the key is for'),
})

const keyListSummary = summaryView({
  shape: z.object({ keys: z.array(keyRowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: ({ keys, next_cursor }: { keys: readonly KeyView[]; next_cursor: string | null }) => ({
    keys: keys.map((key) => ({
      key_id: key.key_id,
      principal: line(principalKey(key.principal), 80),
      role: key.role,
      state: key.state,
      ...(key.expires_at !== null && { expires_at: key.expires_at }),
      ...(key.last_used_at !== null && { last_used_at: key.last_used_at }),
      ...(key.name !== null && { name: line(key.name, 60) }),
    })),
    next_cursor,
  }),
})

export const createKey = defineOperation({
  name: 'create_key',
  title: 'Create a key',
  description:
    'For admins: issues a key for one principal of your tenant. Requests with the key come from that principal, with that role. The response contains the key, which is not shown again.',
  input: z.strictObject({
    principal: z
      .strictObject({
        kind: z.enum(PRINCIPAL_KINDS).describe('agent, worker, service or human'),
        id: text(255).describe('Name of the principal'),
      })
      .describe('The principal of the key'),
    role: z.enum(KEY_ROLES).describe('What the principal may do'),
    name: text(255).optional().describe('What the key is for, for example the name of a machine'),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .optional()
      .describe('Limits the key further than the role; no further limit if absent'),
    capabilities: z
      .array(text(128))
      .max(100)
      .optional()
      .describe('For workers: the only capabilities with which the key can claim tasks; any if absent'),
    expires_at: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('When the key expires, as an ISO 8601 time; never if absent'),
  }),
  normalize: withoutNulls,
  output: newKeyShape,
  access: 'manage',
  rest: { method: 'POST', path: '/v1/keys' },
  effect: WRITES,
  auditEvent: 'key_created',
  auditSubject: 'key_id',
  needsPerson: true,
  example: { principal: { kind: 'agent', id: 'planner' }, role: 'agent', name: 'planner on host a' },
  async run({ engine, keys }, caller, input) {
    const { tenant } = await engine.tenant(caller.tenant)
    const draft = draftOf(caller, input)
    return newView(await keys.issue(tenant, draft, principalKey(caller.principal)))
  },
})

export const listKeys = defineOperation({
  name: 'list_keys',
  title: 'List keys',
  description:
    'For admins: the keys of your tenant, without their secrets. Repeat with next_cursor until it is null.',
  input: z.strictObject(idPage),
  output: z.object({
    keys: z.array(keyShape).readonly().describe('The keys of this page, by id'),
    next_cursor: nextCursor,
  }),
  access: 'audit',
  toolsets: ['operator'],
  summary: keyListSummary,
  rest: { method: 'GET', path: '/v1/keys' },
  async run({ engine, keys }, caller, page) {
    const { tenant } = await engine.tenant(caller.tenant)
    const read = (after: string, limit: number) => keys.page(tenant, after, limit)
    const { items, next_cursor } = await pageById(read, ({ key_id }) => key_id, page)
    return { keys: await keyViews(keys, tenant, items), next_cursor }
  },
})

export const getKey = defineOperation({
  name: 'get_key',
  title: 'Get a key',
  description: 'For admins: one key, without its secret.',
  input: z.strictObject({ key_id: keyId }),
  output: keyShape,
  access: 'audit',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/keys/{key_id}' },
  async run({ engine, keys }, caller, { key_id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const record = await keys.get(tenant, key_id)
    if (record === undefined) throw noSuchKey(key_id)
    return viewOf(keys, tenant, record)
  },
})

export const rotateKey = defineOperation({
  name: 'rotate_key',
  title: 'Rotate a key',
  description:
    'For admins: issues a new key for the same principal, with the same limits. The old key stays valid for overlap_seconds, so that programs can change over. If the response is lost, rotate again and revoke the key that was lost.',
  input: z.strictObject({
    key_id: keyId,
    overlap_seconds: seconds(ONE_YEAR)
      .optional()
      .describe('How long the old key stays valid; a day if absent, 0 to end it now'),
  }),
  normalize: withoutNulls,
  output: newKeyShape,
  access: 'manage',
  rest: { method: 'POST', path: '/v1/keys/{key_id}/rotate' },
  effect: WRITES,
  auditEvent: 'key_rotated',
  needsPerson: true,
  async run({ engine, keys }, caller, { key_id, overlap_seconds = DEFAULT_OVERLAP_SECONDS }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const by = principalKey(caller.principal)
    return newView(await keys.rotate(tenant, key_id, overlap_seconds * 1000, by))
  },
})

export const revokeKey = defineOperation({
  name: 'revoke_key',
  title: 'Revoke a key',
  description:
    'For admins: ends a key. Every server refuses it within a second, and ends the requests that still wait with it.',
  input: z.strictObject({ key_id: keyId }),
  output: keyShape,
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/keys/{key_id}/revoke' },
  effect: ENDS,
  auditEvent: 'key_revoked',
  needsPerson: true,
  async run({ engine, keys }, caller, { key_id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    return viewOf(keys, tenant, await keys.revoke(tenant, key_id, principalKey(caller.principal)))
  },
})

type CreateInput = z.output<typeof createKey.input>

/** Checks what the schema cannot: combinations of fields, and names that only AsyncGate uses. */
function draftOf(caller: Caller, input: CreateInput): KeyDraft {
  const { principal, role, name = null, scopes = null, capabilities = null } = input
  checkPrincipal(principal, role)
  const conflict = scopes === null ? undefined : scopeConflict(role, scopes)
  if (conflict !== undefined) throw invalid('scopes', conflict)
  if (capabilities !== null && role !== 'worker')
    throw invalid('capabilities', 'are only for the role worker')
  const expires_at = input.expires_at === undefined ? null : Date.parse(input.expires_at)
  if (expires_at !== null && expires_at <= Date.now()) throw invalid('expires_at', 'is in the past')
  return { tenant: caller.tenant, principal, role, name, scopes, capabilities, expires_at }
}

function checkPrincipal(principal: Principal, role: KeyDraft['role']): void {
  const key = principalKey(principal)
  if (isReserved(principal)) {
    throw new Fault('FORBIDDEN', { principal: key }, `${key} is reserved for AsyncGate. Use another name.`)
  }
  const isWorker = principal.kind === 'worker'
  if (isWorker !== (role === 'worker') && principal.kind !== 'service') {
    throw invalid(
      'role',
      isWorker ? 'is not worker, and the principal is one' : 'is worker: name a worker or a service',
    )
  }
}

function newView({ key, record }: NewKey): z.output<typeof newKeyShape> {
  return { ...view(record, undefined), key }
}

async function viewOf(keys: Keys, tenant: number, record: StoredKey): Promise<KeyView> {
  const uses = await keys.lastUses(tenant, [record.key_id])
  return view(record, uses.get(record.key_id))
}

export async function keyViews(keys: Keys, tenant: number, records: readonly StoredKey[]) {
  const uses = await keys.lastUses(
    tenant,
    records.map(({ key_id }) => key_id),
  )
  return records.map((record) => view(record, uses.get(record.key_id)))
}

function view(record: StoredKey, usedAt: number | undefined): KeyView {
  const { hash: _, tenant, created_at, expires_at, revoked_at, ...rest } = record
  return {
    ...rest,
    tenant_id: tenant,
    state: keyState(record, Date.now()),
    created_at: isoTime(created_at),
    expires_at: isoOrNull(expires_at),
    revoked_at: isoOrNull(revoked_at),
    last_used_at: isoOrNull(usedAt ?? null),
  }
}
