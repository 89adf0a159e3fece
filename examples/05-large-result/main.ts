/**
 * A result that is far too large for a request: the worker streams it to the gate, which keeps it in its blob channel;
 * the agent downloads it and checks that it is what the worker made.
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

// Under a channel a task may return a stream of bytes, which need never be in memory as a whole.
const render = task('render', {
  input: z.object({ megabytes: z.int().min(1).max(100) }),
  channel: 'blob',
  async *run({ megabytes }) {
    for (let n = 0; n < megabytes; n++) yield Buffer.alloc(MIB, `picture ${n} `)
  },
})
// And a value that has grown too large for its task leaves it by itself.
const count = task('count', {
  input: z.object({ upTo: z.int() }),
  run: ({ upTo }) => Array.from({ length: upTo }, (_, n) => n),
})

const workerId = 'renderer'
const renderer = worker({
  url: gate.url,
  tasks: [render, count],
  workerId,
  // This worker has no storage of its own, so it uses the gate's.
  results: gateResults({ url: gate.url, workerId }),
  logger: false,
})
const stopped = renderer.run()
console.log('2. A worker waits for work.')

const agent = client({ url: gate.url, agent: 'alice' })
const rendered = await agent.submit(render, { megabytes: 40 })
const done = await rendered.wait({ timeoutMs: 60_000 })
console.log(`3. The task says where its result is: ${JSON.stringify(done.result?.result)}`)
console.log(`   and how to get it: ${JSON.stringify(done.result?.how_to_retrieve)}`)

const path = done.result?.how_to_retrieve?.download ?? ''
const answer = await fetch(`${gate.url}${path}?principal_id=alice`)
const hash = createHash('sha256')
let size = 0
for await (const chunk of answer.body ?? []) {
  hash.update(chunk)
  size += chunk.length
}
const checksum = hash.digest('hex')
const expected = createHash('sha256')
for (let n = 0; n < 40; n++) expected.update(Buffer.alloc(MIB, `picture ${n} `))
if (
  size !== 40 * MIB ||
  checksum !== expected.digest('hex') ||
  answer.headers.get('etag') !== `"${checksum}"`
) {
  throw new Error(`The download is not what was rendered: ${size} bytes, ${checksum}.`)
}
console.log(`4. alice has downloaded ${size / MIB} MiB, and the checksum is right: ${checksum.slice(0, 12)}…`)

const page = await agent.fetchTaskResult({ task_id: rendered.id, offset: 10 * MIB, length: 16 })
const text = Buffer.from(String(page.content), 'base64').toString()
if (text !== 'picture 10 pictu') throw new Error(`The page is not what was rendered: ${text}`)
console.log(
  `5. A model would look at a page instead: ${JSON.stringify(text)} at ${page.offset} of ${page.size}`,
)

const counted = await agent.submit(count, { upTo: 400_000 })
await counted.wait({ timeoutMs: 60_000 })
const list = await fetch(`${gate.url}/v1/tasks/${counted.id}/result?principal_id=alice`)
const numbers = z.array(z.int()).parse(await list.json())
if (numbers.length !== 400_000) throw new Error(`There are ${numbers.length} numbers.`)
console.log(
  `6. A list of ${numbers.length} numbers took the same way: ${list.headers.get('content-length')} bytes.`,
)

const { archived } = await agent.archiveTaskResult({ task_id: rendered.id })
const gone = await fetch(`${gate.url}${path}?principal_id=alice`)
if (gone.status !== 404) throw new Error(`The result is still there: ${gone.status}`)
console.log(`7. alice needs it no more: ${archived} pointer is let go of, and the file is gone.`)

renderer.stop()
await stopped
await gate.stop()
console.log('8. The worker and the gate have stopped.')
