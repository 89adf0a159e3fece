import { z } from 'zod'
import { CLIENT_OPTIONS, type Client, clientOf } from './client.ts'
import { command } from './command.ts'
import { ProgressLine } from './output.ts'
import { type Task, taskShape } from './tasks.ts'

const pageShape = z.looseObject({ tasks: z.array(taskShape), next_cursor: z.string().nullable() })

interface Worker {
  readonly worker_id: string
  readonly leased: number
  readonly running: number
  /** When the first of its leases lapses. */
  readonly next_expiry: string
  readonly types: readonly string[]
}

export const workers = command({
  name: 'workers',
  summary: 'List the workers that hold leases now. A worker without a task is not seen here.',
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const client = clientOf(input)
    const progress = new ProgressLine()
    const held: Task[] = []
    for (const status of ['leased', 'running']) {
      progress.show(`reading ${status} tasks`)
      held.push(...(await allTasks(client, status)))
    }
    progress.clear()
    const found = byWorker(held)
    output.answer({ workers: found }, () => {
      if (found.length === 0) return output.say('No worker holds a lease.')
      output.table(
        ['WORKER', 'LEASED', 'RUNNING', 'FIRST LEASE ENDS', 'TYPES'],
        found.map((worker) => [
          worker.worker_id,
          String(worker.leased),
          String(worker.running),
          worker.next_expiry,
          worker.types.join(', '),
        ]),
      )
    })
    return undefined
  },
})

async function allTasks(client: Client, status: string): Promise<Task[]> {
  const found: Task[] = []
  let cursor: string | undefined
  do {
    const page = await client.get('/v1/tasks', { status, limit: 200, cursor }, pageShape)
    found.push(...page.tasks)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return found
}

function byWorker(tasks: readonly Task[]): Worker[] {
  const groups = new Map<string, Task[]>()
  for (const task of tasks) {
    if (task.lease === undefined) continue
    const { worker_id } = task.lease
    groups.set(worker_id, [...(groups.get(worker_id) ?? []), task])
  }
  return [...groups].map(([worker_id, held]) => ({
    worker_id,
    leased: held.filter((task) => task.status === 'leased').length,
    running: held.filter((task) => task.status === 'running').length,
    next_expiry: held.map((task) => task.lease?.expires_at ?? '').sort()[0] ?? '',
    types: [...new Set(held.map((task) => task.type))].sort(),
  }))
}
