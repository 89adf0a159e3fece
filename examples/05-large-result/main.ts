/**
 * A result that is too large for a request: the worker streams it to the gate, which stores it in its blob channel; the
 * agent downloads it and verifies the checksum.
 *
 *   npm run examples -- 05
 */
import { createHash } from 'node:crypto'
import { gateResults } from 'asyncgate/channels'
import { client } from 'asyncgate/client'
import { task, worker } from 'asyncgate/worker'
import { z } from 'zod'
import { startGate } from '../gate.ts'

const MIB = 1024 * 1024

const gate = await startGate()
console.log(`1. A gate runs at ${gate.url}.`)

// A task with a channel can return a stream of bytes, which is never in memory as a whole.
const render = task('render', {
  input: z.object({ megabytes: z.int().min(1).max(100) }),
  channel: 'blob',
  async *run({ megabytes }) {
    for (let n = 0; n < megabytes; n++) yield Buffer.alloc(MIB, `picture ${n} `)
  },
})
// A value that is too large for its task is stored in the channel automatically.
const count = task('count', {
  input: z.object({ upTo: z.int() }),
  run: ({ upTo }) => Array.from({ length: upTo }, (_, n) => n),
})

const workerId = 'renderer'
const renderer = worker({
  url: gate.url,
  tasks: [render, count],
  workerId,
  // This worker has no storage, so it uses that of the gate.
  results: gateResults({ url: gate.url, workerId }),
  logger: false,
})
const stopped = renderer.run()
console.log('2. A worker waits for tasks.')

const agent = client({ url: gate.url, agent: 'alice' })
const rendered = await agent.submit(render, { megabytes: 40 })
const done = await rendered.wait({ timeoutMs: 60_000 })
console.log(`3. The task contains a pointer to its result: ${JSON.stringify(done.result?.result)}`)
console.log(`   and how to retrieve it: ${JSON.stringify(done.result?.how_to_retrieve)}`)

const path = done.result?.how_to_retrieve?.download ?? ''
const download = await fetch(`${gate.url}${path}?principal_id=alice`)
const hash = createHash('sha256')
let size = 0
for await (const chunk of download.body ?? []) {
  hash.update(chunk)
  size += chunk.length
}
const checksum = hash.digest('hex')
const expected = createHash('sha256')
for (let n = 0; n < 40; n++) expected.update(Buffer.alloc(MIB, `picture ${n} `))
if (
  size !== 40 * MIB ||
  checksum !== expected.digest('hex') ||
  download.headers.get('etag') !== `"${checksum}"`
) {
  throw new Error(`The download differs from the rendered result: ${size} bytes, ${checksum}.`)
}
console.log(`4. alice has downloaded ${size / MIB} MiB, and the checksum matches: ${checksum.slice(0, 12)}…`)

const page = await agent.fetchTaskResult({ task_id: rendered.id, offset: 10 * MIB, length: 16 })
const text = Buffer.from(String(page.content), 'base64').toString()
if (text !== 'picture 10 pictu') throw new Error(`The page differs from the rendered result: ${text}`)
console.log(`5. A model reads one page instead: ${JSON.stringify(text)} at ${page.offset} of ${page.size}`)

const counted = await agent.submit(count, { upTo: 400_000 })
await counted.wait({ timeoutMs: 60_000 })
const list = await fetch(`${gate.url}/v1/tasks/${counted.id}/result?principal_id=alice`)
const numbers = z.array(z.int()).parse(await list.json())
if (numbers.length !== 400_000) throw new Error(`The list has ${numbers.length} numbers.`)
console.log(
  `6. A list of ${numbers.length} numbers was stored in the same way: ${list.headers.get('content-length')} bytes.`,
)

const { archived } = await agent.archiveTaskResult({ task_id: rendered.id })
const gone = await fetch(`${gate.url}${path}?principal_id=alice`)
if (gone.status !== 404) throw new Error(`The result still exists: ${gone.status}`)
console.log(`7. alice archives the result: ${archived} pointer is released, and the file is deleted.`)

renderer.stop()
await stopped
await gate.stop()
console.log('8. The worker and the gate have stopped.')
