/**
 * An agent creates a task over MCP, continues with other work, and collects the result.
 *
 *   npm run examples -- 02
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { task, worker } from 'asyncgate/worker'
import { z } from 'zod'
import { startGate } from '../gate.ts'

const gate = await startGate()

const count = task('count_words', {
  input: z.object({ text: z.string() }),
  run: ({ text }) => ({ words: text.split(/\s+/).filter((word) => word !== '').length }),
})
const counter = worker({ url: gate.url, tasks: [count], workerId: 'counter', logger: false })
const stopped = counter.run()

const agent = new Client({ name: 'example-agent', version: '1' })
await agent.connect(new StreamableHTTPClientTransport(new URL(`${gate.url}/mcp?schemas=output`)))
const { tools } = await agent.listTools()
console.log(`1. The agent connects to ${gate.url}/mcp and finds ${tools.length} tools.`)

/** Calls a tool as the agent alice, and returns its result as an object. */
async function call(name: string, input: object): Promise<Readonly<Record<string, unknown>>> {
  const called = await agent.callTool({ name, arguments: { principal_id: 'alice', ...input } })
  if (called.isError) throw new Error(JSON.stringify(called.content))
  return z.record(z.string(), z.unknown()).parse(called.structuredContent)
}

const { task_id } = await call('asyncgate.create_task', {
  type: 'count_words',
  payload: { text: 'call now, fetch later' },
  idempotency_key: 'example-1',
})
console.log(`2. create_task returns immediately: task ${task_id}. The agent can continue with other work.`)

const again = await call('asyncgate.create_task', {
  type: 'count_words',
  payload: { text: 'call now, fetch later' },
  idempotency_key: 'example-1',
})
console.log(`3. A repeated request returns the same task: ${again.task_id === task_id}.`)
if (again.task_id !== task_id) throw new Error('The task was created twice.')

const waited = z
  .object({ done: z.literal(true), status: z.string(), result: z.object({ result: z.unknown() }) })
  .parse(await call('asyncgate.wait_for_task', { task_id, wait_seconds: 20 }))
console.log(`4. wait_for_task: ${waited.status}, ${JSON.stringify(waited.result.result)}`)

const { open_obligations } = z
  .object({ open_obligations: z.array(z.unknown()) })
  .parse(await call('asyncgate.list_open_obligations', {}))
console.log(`5. list_open_obligations: ${open_obligations.length} open for alice.`)

await agent.close()
counter.stop()
await stopped
await gate.stop()
