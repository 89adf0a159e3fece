import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'
import { taskShape } from './tasks.ts'

const pageShape = z.looseObject({ tasks: z.array(taskShape), next_cursor: z.string().nullable() })

export const tasksList = command({
  name: 'tasks list',
  summary: 'List tasks, newest first.',
  options: {
    status: {
      type: 'string',
      value: 'STATUS',
      doc: 'queued, pending_approval, input_required, leased, running, succeeded, failed or canceled',
    },
    type: { type: 'string', value: 'TYPE', doc: 'only of this type' },
    'created-by': { type: 'string', value: 'KIND:ID', doc: 'only of this owner' },
    session: { type: 'string', value: 'ID', doc: 'only of this session' },
    label: { type: 'string', value: 'KEY=VALUE', multiple: true, doc: 'only with this label' },
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 200; default 50' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'where an earlier list ended' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const labels = Object.entries(input.pairs('label')).map(([key, value]) => [`label.${key}`, value])
    const page = await clientOf(input).get(
      '/v1/tasks',
      {
        status: input.text('status'),
        type: input.text('type'),
        created_by: input.text('created-by'),
        session_id: input.text('session'),
        limit: input.whole('limit'),
        cursor: input.text('cursor'),
        ...Object.fromEntries(labels),
      },
      pageShape,
    )
    output.answer(page, () => {
      if (page.tasks.length === 0) return output.say('There are no such tasks.')
      output.table(
        ['TASK', 'STATUS', 'TYPE', 'OWNER', 'CREATED', 'SUMMARY'],
        page.tasks.map((task) => [
          task.task_id,
          task.status,
          task.type,
          `${task.created_by.kind}:${task.created_by.id}`,
          task.created_at,
          (task.summary ?? '').slice(0, 60),
        ]),
      )
      if (page.next_cursor !== null) warn(`There are more: --cursor ${page.next_cursor}`)
    })
    return undefined
  },
})
