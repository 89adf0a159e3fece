/**
 * A worker that greets, and a client that wants to be greeted.
 *
 *   npm run examples -- 01
 */
import { client, TaskFailed } from 'asyncgate/client'
import { Permanent, task, worker } from 'asyncgate/worker'
import { z } from 'zod'
import { startGate } from '../gate.ts'

const gate = await startGate()
console.log(`1. A gate runs at ${gate.url}.`)

// What the worker can do: a name, what goes in, what comes out, and a function.
const greet = task('greet', {
  input: z.object({ name: z.string().min(1) }),
  output: z.object({ greeting: z.string() }),
  run({ name }, ctx) {
    ctx.progress({ percent: 50, message: `thinking of ${name}` })
    if (name === 'Voldemort') throw new Permanent('That name is not spoken.')
    return { greeting: `Hello, ${name}!` }
  },
})

const greeter = worker({ url: gate.url, tasks: [greet], workerId: 'greeter', logger: false })
const stopped = greeter.run()
console.log('2. A worker waits for work.')

const agent = client({ url: gate.url, agent: 'alice' })
const { greeting } = await agent.run(greet, { name: 'Ada' })
console.log(`3. alice asks for a greeting and gets: ${greeting}`)

// Nobody has to wait: the work is durable as soon as it is handed over.
const submitted = await agent.submit(greet, { name: 'Grace' })
const done = await submitted.wait({ timeoutMs: 10_000 })
console.log(`4. Task ${done.task_id} has ${done.status}: ${done.result?.result.greeting}`)

for (const wrong of [{ name: '' }, { name: 'Voldemort' }]) {
  const error: unknown = await agent.run(greet, wrong).catch((reason: unknown) => reason)
  if (!(error instanceof TaskFailed)) throw new Error('It should have failed.', { cause: error })
  console.log(`5. ${JSON.stringify(wrong)} fails for good: ${JSON.stringify(error.task.result?.error)}`)
}

console.log('6. The ledger says who did what:')
for await (const receipt of agent.receipts({ task_id: submitted.id })) {
  console.log(`   ${receipt.receipt_type.padEnd(18)} from ${receipt.from.id} to ${receipt.to.id}`)
}

greeter.stop()
await stopped
await gate.stop()
console.log('7. The worker and the gate have stopped.')
