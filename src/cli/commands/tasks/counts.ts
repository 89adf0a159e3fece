import { z } from 'zod'
import { STATUSES } from '../../../core/transitions.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'

const countsShape = z.looseObject({
  ...Object.fromEntries(STATUSES.map((status) => [status, z.number()])),
  more: z.boolean(),
})

export const tasksCounts = command({
  name: 'tasks counts',
  summary: 'Count tasks by status.',
  options: {
    type: { type: 'string', value: 'TYPE', doc: 'only of this type' },
    'created-by': { type: 'string', value: 'KIND:ID', doc: 'only of this owner' },
    session: { type: 'string', value: 'ID', doc: 'only of this session' },
    label: { type: 'string', value: 'KEY=VALUE', multiple: true, doc: 'only with this label' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const labels = Object.entries(input.pairs('label')).map(([key, value]) => [`label.${key}`, value])
    const counts = await clientOf(input).get(
      '/v1/tasks/counts',
      {
        type: input.text('type'),
        created_by: input.text('created-by'),
        session_id: input.text('session'),
        ...Object.fromEntries(labels),
      },
      countsShape,
    )
    output.answer(counts, () => {
      output.table(
        ['STATUS', 'TASKS'],
        STATUSES.map((status) => [status, String(counts[status])]),
      )
      if (counts.more) warn('There are more: the count stopped at its limit, each number is a lower bound.')
    })
    return undefined
  },
})
