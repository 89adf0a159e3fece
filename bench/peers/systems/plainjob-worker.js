// One worker process of plainjob. It sends the numbers of the tasks that it has run to its parent process.
import Database from 'better-sqlite3'

const [packageUrl, address, pollMs] = process.argv.slice(2)
const { better, defineQueue, defineWorker } = await import(packageUrl)
const logger = { error: console.error, warn() {}, info() {}, debug() {} }
const queue = defineQueue({ connection: better(new Database(address)), logger })
let numbers = []

/** Runs when the worker has found no further task, because it does not yield to the event loop before. */
function report() {
  process.send({ numbers, memory: process.resourceUsage().maxRSS / 1024 })
  numbers = []
}

function handle({ data }) {
  if (numbers.length === 0) setImmediate(report)
  numbers.push(JSON.parse(data).n)
}

const worker = defineWorker('noop', handle, { queue, logger, pollIntervall: Number(pollMs) })
process.on('message', () => worker.start())
process.on('disconnect', () => process.exit(0))
process.send({})
