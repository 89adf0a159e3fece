import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../client.ts'
import { command } from '../command.ts'
import { type Output, warn } from '../output.ts'

const party = z.looseObject({ kind: z.string(), id: z.string() })

export const receiptShape = z.looseObject({
  receipt_id: z.string(),
  seq: z.number(),
  receipt_type: z.string(),
  created_at: z.string(),
  from: party,
  to: party,
  task_id: z.string().nullable(),
})

const pageShape = z.looseObject({ receipts: z.array(receiptShape), next_cursor: z.string().nullable() })

export const receipts = command({
  name: 'receipts',
  summary: 'List receipts, oldest first: those of a task, or those addressed to somebody.',
  options: {
    task: { type: 'string', value: 'TASK_ID', doc: 'only of this task' },
    to: { type: 'string', value: 'KIND:ID', doc: 'addressed to this principal; default the caller' },
    type: { type: 'string', value: 'TYPE', doc: 'only of this type, as in task.completed' },
    since: { type: 'string', value: 'RECEIPT_ID', doc: 'only those after this one' },
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 200; default 50' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const to = input.principal('to')
    const page = await clientOf(input).get(
      '/v1/receipts',
      {
        task_id: input.text('task'),
        to_kind: to?.kind,
        to_id: to?.id,
        receipt_type: input.text('type'),
        since_receipt_id: input.text('since'),
        limit: input.whole('limit'),
      },
      pageShape,
    )
    output.answer(page, () => {
      tellReceipts(output, page.receipts, 'There are no such receipts.')
      if (page.next_cursor !== null) warn(`There are more: --since ${page.next_cursor}`)
    })
    return undefined
  },
})

export function tellReceipts(
  output: Output,
  list: readonly z.output<typeof receiptShape>[],
  none: string,
): void {
  if (list.length === 0) {
    output.say(none)
    return
  }
  output.table(
    ['SEQ', 'TYPE', 'FROM', 'TO', 'TASK', 'CREATED', 'RECEIPT'],
    list.map((receipt) => [
      String(receipt.seq),
      receipt.receipt_type,
      `${receipt.from.kind}:${receipt.from.id}`,
      `${receipt.to.kind}:${receipt.to.id}`,
      receipt.task_id ?? '',
      receipt.created_at,
      receipt.receipt_id,
    ]),
  )
}
