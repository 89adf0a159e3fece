import { z } from 'zod'
import { CLIENT_OPTIONS, type Client, clientOf } from '../../client.ts'
import { command } from '../../command.ts'

const workerShape = z.looseObject({
  worker_id: z.string(),
  state: z.string(),
  drain: z.boolean(),
  accept_types: z.array(z.string()).nullable(),
  capabilities: z.array(z.string()),
  leased: z.number(),
  running: z.number(),
  next_expires_at: z.string().nullable(),
  completed: z.number(),
  failed: z.number(),
  last_seen_at: z.string(),
})

type Worker = z.output<typeof workerShape>

const pageShape = z.looseObject({ workers: z.array(workerShape), next_cursor: z.string().nullable() })

export const workers = command({
  name: 'workers',
  summary: 'List the workers that have been heard of in the last day, and what they do.',
  options: {
    state: { type: 'string', value: 'STATE', doc: 'only idle, busy or offline ones' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const found = await allWorkers(clientOf(input), input.text('state'))
    output.answer({ workers: found }, () => {
      if (found.length === 0) return output.say('There is no such worker.')
      output.table(
        ['WORKER', 'STATE', 'LEASED', 'RUNNING', 'FIRST LEASE ENDS', 'DONE', 'FAILED', 'LAST SEEN', 'TYPES'],
        found.map((worker) => [
          worker.worker_id,
          worker.drain ? `${worker.state}, draining` : worker.state,
          String(worker.leased),
          String(worker.running),
          worker.next_expires_at ?? '',
          String(worker.completed),
          String(worker.failed),
          worker.last_seen_at,
          worker.accept_types?.join(', ') ?? 'any',
        ]),
      )
    })
    return undefined
  },
})

async function allWorkers(client: Client, state: string | undefined): Promise<Worker[]> {
  const found: Worker[] = []
  let cursor: string | undefined
  do {
    const page = await client.get('/v1/workers', { state, limit: 200, cursor }, pageShape)
    found.push(...page.workers)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return found
}
