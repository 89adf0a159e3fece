import { z } from 'zod'
import { readReceipts } from '../../engine/portions.ts'
import { defineOperation, READS } from '../define-operation.ts'
import { pageLimit } from '../paging.ts'
import { askedPrincipal, principalFields } from '../principal-input.ts'
import { relationshipShape, relationshipView } from '../server/relationship.ts'
import { serverShape, serverView } from '../server/server.ts'
import { receiptShape, sinceReceiptId, sinceSeq, withDeliveries } from './shape.ts'

export const listOpenObligations = defineOperation({
  name: 'list_open_obligations',
  title: 'List open obligations',
  description:
    'The receipts that record an obligation towards you which no receipt has closed yet, oldest first. Call it at the start of a session to see which of your tasks are in progress. It changes nothing.',
  input: z.strictObject({ ...principalFields, since_receipt_id: sinceReceiptId, limit: pageLimit }),
  output: z.strictObject({
    server: serverShape.describe('The server that answered'),
    relationship: relationshipShape.describe('What the server knows about the principal'),
    open_obligations: z.array(receiptShape).readonly().describe('The receipts that are still open'),
    cursor: z
      .string()
      .nullable()
      .describe('Send it as since_receipt_id to get the next page; null on the last page'),
  }),
  actor: 'anyone',
  access: 'receipts',
  rest: { method: 'GET', path: '/v1/obligations/open' },
  effect: READS,
  example: { principal_id: 'planner' },
  async run({ engine, environment }, caller, { since_receipt_id, limit, ...asked }) {
    const tenant = await engine.tenant(caller.tenant)
    const principal = askedPrincipal(caller, asked)
    const after = sinceSeq(engine, tenant, since_receipt_id)
    const { reads } = engine.store
    const [open, relationship] = await engine.reading(() =>
      Promise.all([
        reads.obligationLines(tenant.tenant, principal, after, limit + 1),
        reads.relationship(tenant.tenant, principal),
      ]),
    )
    const { rows } = await readReceipts(engine, tenant.tenant, open.slice(0, limit))
    const last = rows.at(-1)
    return {
      server: serverView(engine, environment),
      relationship: relationshipView(principal, relationship),
      open_obligations: await withDeliveries(engine, tenant, rows),
      cursor: open.length > rows.length && last !== undefined ? engine.receiptId(tenant, last.seq) : null,
    }
  },
})
