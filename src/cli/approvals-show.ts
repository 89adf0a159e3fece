import { readApproval, tellApproval } from './approvals.ts'
import { CLIENT_OPTIONS, clientOf } from './client.ts'
import { command } from './command.ts'

export const approvalsShow = command({
  name: 'approvals show',
  summary: 'Show an approval: who asks, for what, with the whole payload.',
  takes: ['TASK_ID'],
  options: {
    n: { type: 'string', value: 'N', doc: 'which question of the task; the newest if absent' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const client = clientOf(input)
    const approval = await readApproval(client, input.word(0), input.whole('n'))
    const { option } = await client.target()
    output.answer(approval, () => {
      tellApproval(output, approval)
      if (approval.state !== 'open') return
      output.say(
        `\nasyncgate approvals approve ${approval.task_id}${option}    (--edit to change the payload)`,
      )
      output.say(`asyncgate approvals deny ${approval.task_id} --reason WHY${option}`)
    })
    return undefined
  },
})
