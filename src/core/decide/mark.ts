import { forbidden, seesAll } from '../authorization.ts'
import type { Answers, MarkInbox } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { receiptId } from '../ids.ts'
import { asksForAttention, type InboxItem, marked } from '../inbox.ts'

/** Marks items of an inbox, all of them or none. Only whose inbox it is may do it, and those above. */
export function mark(draft: Draft, command: MarkInbox): Decision<Answers['mark']> {
  const items = command.items.map((ref) => {
    if (ref.principal !== command.by && !seesAll(command.role)) throw forbidden('admin', command.role)
    const item = draft.world.item(ref.principal, ref.seq)
    if (item === undefined) throw absent(draft, command, ref.seq)
    return change(draft, item, command)
  })
  return draft.done({ items })
}

function change(draft: Draft, item: InboxItem, { as }: MarkInbox): InboxItem {
  const after = marked(item, as, draft.world.now)
  if (after !== item) draft.mark(after)
  return after
}

/** A receipt that asks for somebody else's attention, or one that is in no inbox. */
function absent({ world }: Draft, { by, role }: MarkInbox, seq: number): Fault {
  const receipt = world.receipt(seq)
  const isOfOthers = receipt !== undefined && receipt.to !== by && asksForAttention(receipt.receipt_type)
  if (isOfOthers) return forbidden('admin', role)
  return new Fault('RECEIPT_NOT_FOUND', { receipt_id: receiptId(world.tenant.salt, seq) })
}
