import type { ListWorkersAnswer } from '../../client/operations.ts'
import { serverCommand } from '../client.ts'
import { text } from '../input.ts'

const list = serverCommand({
  name: 'workers',
  summary: 'List the workers of the last day and what they do.',
  options: { state: text('STATE', 'only workers in this state: idle, busy or offline') },
  async run(client, input, output) {
    const workers: ListWorkersAnswer['workers'][number][] = []
    let cursor: string | undefined
    do {
      const page = await client.call('listWorkers', { state: input.text('state'), limit: 200, cursor })
      workers.push(...page.workers)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    output.result({ workers }, () =>
      output.table(
        ['WORKER', 'STATE', 'LEASED', 'RUNNING', 'FIRST LEASE ENDS', 'DONE', 'FAILED', 'LAST SEEN', 'TYPES'],
        workers.map((worker) => [
          worker.worker_id,
          worker.drain ? `${worker.state}, draining` : worker.state,
          worker.leased,
          worker.running,
          worker.next_expires_at,
          worker.completed,
          worker.failed,
          worker.last_seen_at,
          worker.accept_types?.join(', ') ?? 'any',
        ]),
        'There are no such workers.',
      ),
    )
  },
})

function drainCommand(verb: string, drain: boolean, summary: string, done: string) {
  return serverCommand({
    name: `workers ${verb}`,
    summary,
    takes: ['WORKER_ID'],
    async run(client, input, output) {
      const drained = await client.call('drainWorker', { worker_id: input.arg(0), drain })
      output.result(drained, () => output.print(`${drained.worker_id} ${done}`))
    },
  })
}

export const commands = [
  list,
  drainCommand(
    'drain',
    true,
    'Tell a worker to finish its tasks and stop. It receives no more tasks, and learns of it in its next response.',
    'is draining',
  ),
  drainCommand('undrain', false, 'Let a draining worker receive tasks again.', 'receives tasks again'),
]
