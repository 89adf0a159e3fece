import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import {
  type Caller,
  isReserved,
  PRINCIPAL_KINDS,
  type PrincipalKey,
  principalKey,
} from '../../core/principal.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { defineOperation, ENDS } from '../define-operation.ts'
import { MAX_WAIT_SECONDS, nextCursor, pageLimit, text, time } from '../input.ts'
import type { ErasureRecord } from './erasure-record.ts'
import { exportPage, SECTIONS } from './export-page.ts'

const principal = {
  kind: z.enum(PRINCIPAL_KINDS).describe('Kind of the principal: agent, worker, service or human'),
  id: text(255).describe('Name of the principal'),
}

const example = { kind: 'human', id: 'alice' }

export const exportPrincipal = defineOperation({
  name: 'export_principal',
  title: 'Export the data of a principal',
  description:
    'For admins: everything that is stored about one principal of your tenant: keys, tasks with their progress, logs and emails, receipts, audit events. A page may be empty although next_cursor is not null: repeat until it is null.',
  input: z.strictObject({
    ...principal,
    limit: pageLimit,
    cursor: text(64).optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({
    records: z
      .array(z.looseObject({ kind: z.enum(SECTIONS).describe('What the record contains') }))
      .readonly()
      .describe('The records of this page; each has its contents in the member that its kind names'),
    next_cursor: nextCursor,
  }),
  access: 'manage',
  rest: { method: 'POST', path: '/v1/principals/{kind}/{id}/export' },
  effect: { readOnly: true, destructive: false, idempotent: true },
  auditEvent: 'principal_exported',
  auditSubject: 'id',
  needsPerson: true,
  example,
  async run(services, caller, { kind, id, limit, cursor }) {
    const tenant = await services.engine.tenant(caller.tenant)
    return exportPage(services, tenant, principalKey({ kind, id }), cursor, limit)
  },
})

const erasureShape = z.object({
  principal: z.string().describe('The principal whose data is erased, as kind:id'),
  state: z.enum(['running', 'done']).describe('Whether everything is erased'),
  requested_at: time.describe('When the erasure was requested'),
  requested_by: z.string().describe('The principal that requested it'),
  finished_at: time.nullable().describe('When everything was erased; null while it is running'),
  keys: z.int().describe('Number of keys that were revoked'),
  tasks: z.int().describe('Number of tasks whose contents were erased'),
  receipts: z.int().describe('Number of receipts whose bodies were erased'),
})

export const erasePrincipal = defineOperation({
  name: 'erase_principal',
  title: 'Erase the data of a principal',
  description:
    'For admins: erases what one principal of your tenant has written and received, for good: its keys are revoked, its open tasks are canceled, the contents of its tasks and receipts are erased. The receipts themselves stay, so that the ledger can be verified. It runs in the background: follow it with get_erasure.',
  input: z.strictObject(principal),
  output: erasureShape,
  access: 'manage',
  rest: { method: 'POST', path: '/v1/principals/{kind}/{id}/erase' },
  effect: ENDS,
  auditEvent: 'principal_erased',
  auditSubject: 'principal',
  needsPerson: true,
  repeat:
    'While the erasure runs, a repeated request returns it. Afterwards it starts another one, for what has been stored since.',
  example,
  async run({ engine, erasures }, caller, asked) {
    const { tenant } = await engine.tenant(caller.tenant)
    const erased = checkedPrincipal(caller, asked)
    return view(erased, await erasures.request(tenant, erased, principalKey(caller.principal)))
  },
})

export const getErasure = defineOperation({
  name: 'get_erasure',
  title: 'Get an erasure',
  description: 'For admins: how far the last erasure of the data of a principal has got.',
  input: z.strictObject({
    ...principal,
    wait_seconds: z
      .number()
      .min(0)
      .max(MAX_WAIT_SECONDS)
      .default(0)
      .describe('Maximum time to wait until it is done, in seconds'),
  }),
  output: erasureShape,
  access: 'audit',
  rest: { method: 'GET', path: '/v1/principals/{kind}/{id}/erasure' },
  async run({ engine, erasures }, caller, { kind, id, wait_seconds }, signal) {
    const { tenant } = await engine.tenant(caller.tenant)
    const erased = principalKey({ kind, id })
    const record = await erasures.wait(tenant, erased, wait_seconds * 1000, signal)
    if (record === undefined) throw new Fault('ERASURE_NOT_FOUND', { principal: erased })
    return view(erased, record)
  },
})

/** An admin who erased themselves could not follow it, and the gate's own name belongs to every tenant. */
function checkedPrincipal(
  caller: Caller,
  asked: { kind: Caller['principal']['kind']; id: string },
): PrincipalKey {
  const erased = principalKey(asked)
  if (isReserved(asked)) {
    throw new Fault(
      'FORBIDDEN',
      { principal: erased },
      `${erased} is AsyncGate itself and has no data to erase.`,
    )
  }
  if (erased === principalKey(caller.principal)) {
    throw new Fault(
      'FORBIDDEN',
      { principal: erased },
      'You cannot erase yourself. Ask another admin to do it.',
    )
  }
  return erased
}

function view(principal: PrincipalKey, record: ErasureRecord): z.output<typeof erasureShape> {
  const { stage, requested_at, requested_by, finished_at, keys, tasks, receipts } = record
  return {
    principal,
    state: stage === 'done' ? 'done' : 'running',
    requested_at: isoTime(requested_at),
    requested_by,
    finished_at: isoOrNull(finished_at),
    keys,
    tasks,
    receipts,
  }
}
