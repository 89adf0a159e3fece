import type { Receipt } from '../../client/operations.ts'
import { serverCommand } from '../client.ts'
import { flag, PAGE, splitPrincipal, text } from '../input.ts'
import type { Output } from '../output.ts'
import { checkpoint, proof, rotateKey } from './receipt-proofs.ts'
import { nameOf } from './tasks/print.ts'

const OPTIONS = {
  since: text('RECEIPT_ID', 'only receipts after this one'),
  limit: PAGE.limit,
}

const receipts = serverCommand({
  name: 'receipts',
  summary: 'List receipts, oldest first: those of a task, or those addressed to a principal.',
  options: {
    task: text('TASK_ID', 'only receipts of this task'),
    to: text('KIND:ID', 'addressed to this principal; default the caller'),
    type: text('TYPE', 'only receipts of this type, as in task.completed'),
    'include-archived': flag('also receipts that were moved to the archive'),
    ...OPTIONS,
  },
  async run(client, input, output) {
    const to = input.principal('to')
    const page = await client.call('listReceipts', {
      task_id: input.text('task'),
      to_kind: to?.kind,
      to_id: to?.id,
      receipt_type: input.text('type'),
      include_archived: input.flag('include-archived') || undefined,
      since_receipt_id: input.text('since'),
      limit: input.integer('limit'),
    })
    output.result(page, () => {
      printReceipts(output, page.receipts, 'There are no such receipts.')
      output.nextPage(page.next_cursor, '--since')
    })
  },
})

const obligations = serverCommand({
  name: 'obligations',
  summary: 'List the open obligations towards a principal, oldest first.',
  takes: ['[KIND:ID]'],
  options: OPTIONS,
  async run(client, input, output) {
    const [owner] = input.args
    const [principal_kind, principal_id] = owner === undefined ? [] : splitPrincipal(owner)
    const page = await client.call('listOpenObligations', {
      ...(owner !== undefined && { principal_kind, principal_id }),
      since_receipt_id: input.text('since'),
      limit: input.integer('limit'),
    })
    output.result(page, () => {
      printReceipts(output, page.open_obligations, 'There are no open obligations.')
      output.nextPage(page.cursor, '--since')
    })
  },
})

function printReceipts(output: Output, list: readonly Receipt[], none: string): void {
  output.table(
    ['SEQ', 'TYPE', 'FROM', 'TO', 'TASK', 'CREATED', 'RECEIPT'],
    list.map((receipt) => [
      receipt.seq,
      receipt.receipt_type,
      nameOf(receipt.from),
      nameOf(receipt.to),
      receipt.task_id,
      receipt.created_at,
      receipt.receipt_id,
    ]),
    none,
  )
}

export const commands = [receipts, proof, checkpoint, rotateKey, obligations]
