import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'
import { ago, approvalShape, keyOf, titleOf } from './approvals.ts'

const pageShape = z.looseObject({ approvals: z.array(approvalShape), next_cursor: z.string().nullable() })

export const approvalsList = command({
  name: 'approvals list',
  summary: 'List what waits for a person to decide, longest first.',
  options: {
    state: {
      type: 'string',
      value: 'STATE',
      doc: 'open (default), approved, denied, expired, withdrawn or all',
    },
    type: { type: 'string', value: 'TYPE', doc: 'only of tasks of this type' },
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 200; default 50' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'where an earlier list ended' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const client = clientOf(input)
    const page = await client.get(
      '/v1/approvals',
      {
        state: input.text('state'),
        type: input.text('type'),
        limit: input.whole('limit'),
        cursor: input.text('cursor'),
      },
      pageShape,
    )
    const { option } = await client.target()
    output.answer(page, () => {
      const { approvals, next_cursor } = page
      if (approvals.length === 0) return output.say('Nothing waits for a decision.')
      output.table(
        ['TASK', 'ASKED', 'STATE', 'TYPE', 'FOR', 'RULE', 'WHAT'],
        approvals.map((approval) => [
          approval.task_id,
          ago(approval.asked_at),
          approval.state,
          approval.task.type,
          keyOf(approval.task.owner),
          approval.request.rule_id ?? '-',
          titleOf(approval).slice(0, 80),
        ]),
      )
      if (next_cursor !== null) warn(`There are more: --cursor ${next_cursor}`)
      output.say(`\nLook at one with "asyncgate approvals show TASK${option}", then approve or deny it.`)
    })
    return undefined
  },
})
