import { forbidden, seesAll } from '../authorization.ts'
import { body } from '../bodies.ts'
import type { Acknowledge, Answers } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { receiptId } from '../ids.ts'
import { marked } from '../inbox.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'

/**
 * Who a receipt is addressed to can acknowledge it, and who has it in the inbox: the agent for whom a task is done. Once
 * is enough. It then leaves the inbox of that one.
 */
export function acknowledge(draft: Draft, command: Acknowledge): Decision<Answers['acknowledge']> {
  const { world } = draft
  const receipt = world.receipt(command.seq)
  const receipt_id = receiptId(world.tenant.salt, command.seq)
  if (receipt === undefined) throw new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  const item = world.item(command.by, command.seq)
  const isAddressed = receipt.to === command.by || item !== undefined
  if (!isAddressed && !seesAll(command.role)) throw forbidden('admin', command.role)
  const before = world.acknowledgement(command.seq, command.by)
  if (before !== undefined) return draft.done({ seq: before })
  const seq = draft.receipt({
    type: 'receipt.acknowledged',
    from: command.by,
    to: GATE,
    ...(receipt.task_id !== null && { task_id: receipt.task_id }),
    parents: [command.seq],
    body: body({ acknowledged_receipt_id: canonical(receipt_id) }),
  })
  if (item !== undefined) draft.mark(marked(marked(item, 'read', world.now), 'archived', world.now))
  return draft.done({ seq })
}
