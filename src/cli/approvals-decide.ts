import { z } from 'zod'
import { approvalPath, readApproval, titleOf } from './approvals.ts'
import { CLIENT_OPTIONS, clientOf } from './client.ts'
import { command } from './command.ts'
import { editJson } from './edit-json.ts'
import { readPayload } from './tasks-create.ts'

const decidedShape = z.looseObject({
  state: z.string(),
  status: z.string(),
  decided_at: z.string(),
  rule_id: z.string().optional(),
})

const N = { type: 'string', value: 'N', doc: 'which question of the task; the newest if absent' } as const

export const approvalsApprove = command({
  name: 'approvals approve',
  summary: 'Let a task go on that waits for an approval.',
  takes: ['TASK_ID'],
  options: {
    comment: { type: 'string', value: 'TEXT', doc: 'for the record' },
    edit: { type: 'boolean', doc: 'change the payload first, in the editor of VISUAL or EDITOR' },
    payload: {
      type: 'string',
      value: 'JSON',
      doc: 'the payload to use; @FILE reads a file, - standard input',
    },
    'remember-until': {
      type: 'string',
      value: 'TIME',
      doc: 'until then the same agent need not ask again for this, as in 2026-12-31T18:00Z',
    },
    n: N,
    ...CLIENT_OPTIONS,
  },
  notes: () =>
    'Whoever asked for the work cannot approve it. Your key says who you are; under a shared key say it with --as human:NAME.',
  async run(input, output) {
    const given = input.text('payload')
    if (given !== undefined && input.flag('edit')) throw input.wrong('Give --edit or --payload, not both.')
    const until = input.text('remember-until')
    if (until !== undefined && Number.isNaN(Date.parse(until))) {
      throw input.wrong(`--remember-until takes a time like 2026-12-31T18:00Z, not "${until}".`)
    }
    const client = clientOf(input)
    const approval = await readApproval(client, input.word(0), input.whole('n'))
    const { task_id, n, task } = approval
    const edited = input.flag('edit') ? await editJson(task.payload, `payload-${task_id}`) : undefined
    const decided = await client.post(
      approvalPath(task_id, '/approve'),
      {
        // The one that was read, though another may have been asked meanwhile.
        n,
        comment: input.text('comment'),
        payload: given === undefined ? edited : readPayload(given),
        remember_until: until === undefined ? undefined : new Date(until).toISOString(),
      },
      decidedShape,
    )
    output.answer(decided, () => {
      output.say(`Approved: ${titleOf(approval)}`)
      output.say(`The task is ${decided.status} and goes on${given || edited ? ' with your payload' : ''}.`)
      if (decided.rule_id !== undefined)
        output.say(`Remembered until ${until} by the rule ${decided.rule_id}.`)
    })
    return undefined
  },
})

export const approvalsDeny = command({
  name: 'approvals deny',
  summary: 'End a task that waits for an approval; its owner is told the reason.',
  takes: ['TASK_ID'],
  options: {
    reason: { type: 'string', value: 'TEXT', doc: 'why not; required' },
    n: N,
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const reason = input.text('reason')
    if (reason === undefined) throw input.wrong('Say why with --reason: the agent acts on it.')
    const client = clientOf(input)
    const approval = await readApproval(client, input.word(0), input.whole('n'))
    const { task_id, n } = approval
    const decided = await client.post(approvalPath(task_id, '/deny'), { n, reason }, decidedShape)
    output.answer(decided, () => {
      output.say(`Denied: ${titleOf(approval)}`)
      output.say(`The task is ${decided.status}.`)
    })
    return undefined
  },
})
