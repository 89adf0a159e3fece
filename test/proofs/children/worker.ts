import { type TaskContext, task, worker } from '../../../src/worker/index.ts'
import { onFinishRequest } from '../../support/processes.ts'
import type { WorkerLine, WorkerOptions } from '../worker-process.ts'

/** A worker in a separate process that prints the events of its handlers. */
const options: WorkerOptions = JSON.parse(process.argv[2] ?? '')
const { url, workerId, concurrency, leaseSeconds, handler } = options

function say(line: WorkerLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** A clock that all processes of the machine share. */
const at = () => performance.timeOrigin + performance.now()

async function run(_: unknown, { task: { task_id }, fence, attempt, signal }: TaskContext): Promise<unknown> {
  say({ event: 'begun', task_id, fence, attempt, at: at() })
  signal.addEventListener('abort', () =>
    say({ event: 'aborted', task_id, kind: signal.reason.kind, at: at() }),
  )
  if (handler === 'hangs') {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }
  // Ignores its signal, so that it reports a result regardless of the lease.
  if (typeof handler === 'number') {
    for (let step = 0; step < 3; step++) await new Promise((resolve) => setTimeout(resolve, handler / 3))
  }
  say({ event: 'ended', task_id, at: at() })
  return { by: workerId, fence }
}

const working = worker({
  url,
  workerId,
  concurrency,
  leaseSeconds,
  tasks: [task('job', { run })],
  logger: false,
})

onFinishRequest(() => working.stop())
await working.run()
say({ event: 'stopped', metrics: working.metrics() })
