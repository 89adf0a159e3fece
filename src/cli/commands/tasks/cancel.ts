import { z } from 'zod'
import { CLIENT_OPTIONS, type Client, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import type { Output } from '../../output.ts'
import { cancelAll } from './cancel-all.ts'

const canceledShape = z.looseObject({ ok: z.boolean(), status: z.string() })

export const tasksCancel = command({
  name: 'tasks cancel',
  summary:
    'Stop a task, or all open tasks that fit. Exit code 1 if the one task had ended in another way before.',
  takes: ['[TASK_ID]'],
  options: {
    session: { type: 'string', value: 'ID', doc: 'all of this session' },
    agent: { type: 'string', value: 'ID', doc: 'all of this agent; KIND:ID for another kind of owner' },
    type: { type: 'string', value: 'TYPE', doc: 'all of this type' },
    status: { type: 'string', value: 'STATUS', doc: 'all with this status, as in queued' },
    label: { type: 'string', value: 'KEY=VALUE', multiple: true, doc: 'all with this label' },
    all: { type: 'boolean', doc: 'all that there are' },
    reason: { type: 'string', value: 'TEXT', doc: 'why, for the receipt' },
    ...CLIENT_OPTIONS,
  },
  notes: () =>
    'Of several filters all must fit. Tasks that are created after the command began are left alone.\n' +
    'Ctrl-C stops it; what is canceled by then stays so.',
  async run(input, output) {
    const labels = input.pairs('label')
    const filter = {
      session_id: input.text('session'),
      created_by: input.text('agent'),
      type: input.text('type'),
      status: input.text('status'),
      labels: Object.keys(labels).length > 0 ? labels : undefined,
      all: input.flag('all') || undefined,
    }
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    const [task_id] = input.words
    if (task_id === undefined && !isFiltered) {
      throw input.wrong('Name a task, or say which: --session, --agent, --type, --status, --label or --all.')
    }
    if (task_id !== undefined && isFiltered) throw input.wrong('Name a task or a filter, not both.')
    const client = clientOf(input)
    const reason = input.text('reason')
    return task_id === undefined
      ? cancelAll(client, { ...filter, reason }, output)
      : cancelOne(client, task_id, reason, output)
  },
})

async function cancelOne(
  client: Client,
  task_id: string,
  reason: string | undefined,
  output: Output,
): Promise<ExitCode> {
  const path = `/v1/tasks/${encodeURIComponent(task_id)}/cancel`
  const answer = await client.post(path, { reason }, canceledShape)
  output.answer(answer, () => {
    output.say(answer.ok ? 'The task is canceled.' : `The task had ended before: it is ${answer.status}.`)
  })
  return answer.status === 'canceled' ? EXIT.ok : EXIT.failure
}
