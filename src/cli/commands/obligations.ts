import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../client.ts'
import { command } from '../command.ts'
import { warn } from '../output.ts'
import { receiptShape, tellReceipts } from './receipts.ts'

const openShape = z.looseObject({ open_obligations: z.array(receiptShape), cursor: z.string().nullable() })

export const obligations = command({
  name: 'obligations',
  summary: 'List what is still owed to somebody, oldest first.',
  takes: ['[KIND:ID]'],
  options: {
    since: { type: 'string', value: 'RECEIPT_ID', doc: 'only those after this one' },
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 200; default 50' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const [kind, id] = ownerOf(input.words[0])
    const open = await clientOf(input).get(
      '/v1/obligations/open',
      {
        principal_kind: kind,
        principal_id: id,
        since_receipt_id: input.text('since'),
        limit: input.whole('limit'),
      },
      openShape,
    )
    output.answer(open, () => {
      tellReceipts(output, open.open_obligations, 'Nothing is owed.')
      if (open.cursor !== null) warn(`There are more: --since ${open.cursor}`)
    })
    return undefined
  },
})

/** The id of an agent, or kind:id. */
function ownerOf(name: string | undefined): [string | undefined, string | undefined] {
  if (name === undefined) return [undefined, undefined]
  const colon = name.indexOf(':')
  return colon < 0 ? ['agent', name] : [name.slice(0, colon), name.slice(colon + 1)]
}
