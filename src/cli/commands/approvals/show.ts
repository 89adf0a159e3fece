import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { readApproval, tellApproval } from './approvals.ts'

export const approvalsShow = command({
  name: 'approvals show',
  summary: 'Show an approval: who asks, for what, with everything that the worker will get.',
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
      const { task_id, content_hash } = approval
      const seen = content_hash === undefined ? '' : ` --content-hash ${content_hash}`
      output.say('\nDecide on exactly this (--edit changes the payload first):')
      output.say(`asyncgate approvals approve ${task_id}${seen}${option}`)
      output.say(`asyncgate approvals deny ${task_id} --reason WHY${seen}${option}`)
    })
    return undefined
  },
})
