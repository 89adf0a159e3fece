// A worker thread that asks GET /health/live again and again, so that the work of the test delays no probe.
// Plain JavaScript: Node 20 loads no TypeScript in a worker thread.
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const { url, everyMs, pid } = workerData
const agent = new Agent({ keepAlive: true })
let isDone = false
parentPort.once('message', () => {
  isDone = true
})

// How long a thread has been ready to run while other programs had the processors, in milliseconds. Linux tells it; without
// it only a quiet machine gives reliable measurements.
function waitedForProcessor(thread) {
  try {
    const [, nanoseconds] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return 0
  }
}

// Of the thread that serves, and of this one.
function waited() {
  return (
    (pid === undefined ? 0 : waitedForProcessor(`${pid}/task/${pid}`)) + waitedForProcessor('thread-self')
  )
}

function probe() {
  const started = performance.now()
  const waitedBefore = waited()
  return new Promise((resolve, reject) => {
    get(`${url}/health/live`, { agent }, (response) => {
      response.resume().on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - started - (waited() - waitedBefore))
        else reject(new Error(`GET /health/live answered ${response.statusCode}`))
      })
    }).on('error', reject)
  })
}

// The first probe opens the connection, and tells that probing has begun.
await probe()
parentPort.postMessage('probing')
let probes = 0
let slowestMs = 0
while (!isDone) {
  slowestMs = Math.max(slowestMs, await probe())
  probes++
  await pause(everyMs)
}
agent.destroy()
parentPort.postMessage({ probes, slowestMs })
