// Measures one system in a separate process, so that its memory is its own, and sends the results to the parent process.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The callers that enqueue single tasks at the same time. */
const CALLERS = 64
/** The part of the tasks that are run once before the measurement. */
const WARM_UP = 0.25
const STALLED_MS = 60_000
/** A worker needs a moment to become idle again. */
const SETTLE_MS = 30

const job = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))
process.once('uncaughtException', (error) => process.send({ error: String(error) }, () => process.exit(1)))

const seen = new Set()
let finished = 0
let enqueued = 0
let progressAt = performance.now()
/** Called with the time of each start, and of the moment at which all tasks so far have finished. */
let onStarted = () => {}
let onAllFinished = () => {}

const installed = createRequire(join(job.peersFolder, 'package.json'))
const { open } = await import(new URL(`./systems/${job.module}`, import.meta.url).href)
const packageUrl = (name) => pathToFileURL(installed.resolve(name)).href
const system = await open({
  ...job.options,
  address: job.address,
  /** The package of a peer, from the folder in which this command installs them. */
  load: (name) => import(packageUrl(name)),
  packageUrl,
  /** A handler was called with task `n`. */
  started(n) {
    seen.add(n)
    onStarted(performance.now())
  },
  /** `count` tasks were completed. For a peer, whose completions cannot be awaited, that is when their handlers have run. */
  finished(count) {
    finished += count
    progressAt = performance.now()
    if (finished >= enqueued && seen.size >= enqueued) onAllFinished(progressAt)
  },
})

/** Runs `enqueue`, and resolves with the time at which every task that it enqueued has finished. */
async function finishing(count, enqueue) {
  const first = enqueued
  enqueued += count
  progressAt = performance.now()
  let timer
  const end = new Promise((resolve, reject) => {
    onAllFinished = resolve
    timer = setInterval(() => {
      if (performance.now() - progressAt < STALLED_MS) return
      const missing = enqueued - Math.min(finished, seen.size)
      reject(new Error(`${missing} of ${count} tasks did not finish: no progress for ${STALLED_MS / 1000} s`))
    }, 1000)
  })
  try {
    const [endedAt] = await Promise.all([end, enqueue(first)])
    return endedAt
  } finally {
    clearInterval(timer)
    onAllFinished = () => {}
  }
}

/** Tasks per second from the first enqueue to the end of the last task, with workers running. */
async function live(count) {
  const startedAt = performance.now()
  const endedAt = await finishing(count, (first) => {
    let next = first
    const caller = async (i) => {
      while (next < first + count) {
        await system.enqueue(next++, i)
        progressAt = performance.now()
      }
    }
    return Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i)))
  })
  return (count / (endedAt - startedAt)) * 1000
}

/** The queue is filled first and processed afterwards, from the moment at which the workers have started. */
async function bulk(count) {
  await system.stopWorkers()
  let enqueueMs = 0
  let startedAt = Number.NaN
  const endedAt = await finishing(count, async (first) => {
    const before = performance.now()
    let next = first
    const caller = async (i) => {
      while (next < first + count) {
        const size = Math.min(system.batch, first + count - next)
        const numbers = Array.from({ length: size }, (_, offset) => next + offset)
        next += size
        await system.enqueueMany(numbers, i)
        progressAt = performance.now()
      }
    }
    await Promise.all(Array.from({ length: system.bulkCallers }, (_, i) => caller(i)))
    enqueueMs = performance.now() - before
    const firstStart = new Promise((resolve) => {
      onStarted = (at) => {
        resolve(at)
        onStarted = () => {}
      }
    })
    const ready = system.startWorkers('bulk').then(() => performance.now())
    startedAt = await Promise.race([firstStart, ready])
    await ready
  })
  // A system whose workers cannot be stopped may have finished before the last batch was acknowledged.
  const processMs = Math.max(0, endedAt - startedAt)
  return { total: count / (enqueueMs + processMs), enqueue: count / enqueueMs, process: count / processMs }
}

/** The milliseconds from the call that enqueues a task to the start of its handler, on an idle queue. */
async function pickUps(samples) {
  const taken = []
  for (let i = 0; i < samples; i++) {
    // A random moment of the interval at which the system polls.
    await pause(SETTLE_MS + Math.random() * (system.pollMs ?? 0))
    await finishing(1, async (n) => {
      const startedAt = performance.now()
      onStarted = (at) => {
        taken.push(at - startedAt)
        onStarted = () => {}
      }
      await system.enqueue(n, 0)
    })
  }
  return taken
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

await system.startWorkers('live')
await live(Math.ceil(job.live * WARM_UP))
const latencies = await pickUps(job.samples)
const liveRate = await live(job.live)
if (job.bulk > 0) await bulk(Math.ceil(job.bulk * WARM_UP))
const perMs = job.bulk === 0 ? undefined : await bulk(job.bulk)
const measurement = {
  live: liveRate,
  ...(perMs && { bulk: perMs.total * 1000, enqueue: perMs.enqueue * 1000, process: perMs.process * 1000 }),
  pickUps: latencies,
  memory: process.resourceUsage().maxRSS / 1024 + (system.workerMemory?.() ?? 0),
}
process.send(measurement, () => process.exit(0))
