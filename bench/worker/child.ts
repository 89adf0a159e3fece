import { task, worker } from '../../dist/worker/index.js'
import { newResult } from '../engine/lifecycle.ts'
import type { Job, Measurements } from './process.ts'
import type { Amount } from './raw.ts'

/** One worker process. It measures the job in its arguments and sends the measurements to its parent. */
const job: Job = JSON.parse(process.argv[2] ?? '')

function tell(measurements: Measurements): void {
  process.send?.(measurements)
}

/** Measures no-op tasks, from the end of the warm-up to the response to the last completion. */
async function drain(url: string, { count, warmUp }: Amount, concurrency: number): Promise<Measurements> {
  const noop = task('summarise', { run: newResult })
  const working = worker({ url, tasks: [noop], concurrency, logger: false, signals: false })
  const running = working.run()
  const done = async (enough: number) => {
    for (;;) {
      const completed = working.metrics().types.summarise?.completed ?? 0
      if (completed >= enough) return completed
      await pause(5)
    }
  }
  const before = await done(warmUp)
  const startedAt = performance.now()
  await done(count)
  const seconds = (performance.now() - startedAt) / 1000
  await working.kill()
  await running
  return { seconds, tasks: count - before }
}

/** Measures the processor time of a worker that only holds leases. */
async function hold(
  url: string,
  count: number,
  leaseSeconds: number,
  seconds: number,
): Promise<Measurements> {
  let running = 0
  const held = task('summarise', {
    async run(_, { signal }) {
      running++
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw signal.reason
    },
  })
  const working = worker({
    url,
    tasks: [held],
    concurrency: count,
    leaseSeconds,
    logger: false,
    signals: false,
  })
  const ended = working.run()
  while (running < count) await pause(50)
  await pause(2000)
  const before = process.cpuUsage()
  const startedAt = performance.now()
  const renewedBefore = working.metrics().renewed
  await pause(seconds * 1000)
  const { user, system } = process.cpuUsage(before)
  const wall = (performance.now() - startedAt) / 1000
  const { renewed, leases } = working.metrics()
  if (leases !== count) throw new Error(`${count - leases} leases were lost`)
  await working.kill()
  await ended
  return { seconds: wall, tasks: 0, cores: (user + system) / 1e6 / wall, renewed: renewed - renewedBefore }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const url = `http://127.0.0.1:${job.port}`
if (job.kind === 'drain') tell(await drain(url, job, job.concurrency))
else tell(await hold(url, job.count, job.leaseSeconds, job.seconds))
process.disconnect?.()
