/**
 * A worker that returns greetings, and a client that requests them.
 *
 *   npm run examples -- 01
 */
import { setTimeout } from 'node:timers/promises'
import { client, GateError, TaskFailed } from 'asyncgate/client'
import { Permanent, task, worker } from 'asyncgate/worker'
import { z } from 'zod'
import { startGate } from '../gate.ts'

const gate = await startGate()
console.log(`1. A gate runs at ${gate.url}.`)

// A task definition: type, description, input schema, output schema and handler.
const greet = task('greet', {
  description: 'Greets a person.',
  input: z.object({ name: z.string().min(1) }),
  output: z.object({ greeting: z.string() }),
  run({ name }, ctx) {
    ctx.progress({ percent: 50, message: `greeting ${name}` })
    if (name === 'Voldemort') throw new Permanent('This name is not allowed.')
    return { greeting: `Hello, ${name}!` }
  },
})

const greeter = worker({ url: gate.url, tasks: [greet], workerId: 'greeter', logger: false })
const stopped = greeter.run()
console.log('2. A worker waits for tasks.')

const agent = client({ url: gate.url, agent: 'alice' })
let found = await agent.listTaskTypes()
while (found.task_types.length === 0) {
  await setTimeout(20)
  found = await agent.listTaskTypes()
}
for (const { type, description, payload_schema } of found.task_types) {
  console.log(`   It publishes ${type}: ${description} Payload: ${JSON.stringify(payload_schema)}`)
}

const { greeting } = await agent.run(greet, { name: 'Ada' })
console.log(`3. alice requests a greeting and receives: ${greeting}`)

// The client does not have to wait: the task is durable as soon as submit resolves.
const submitted = await agent.submit(greet, { name: 'Grace' })
const done = await submitted.wait({ timeoutMs: 10_000 })
console.log(`4. Task ${done.task_id} has ${done.status}: ${done.result?.result.greeting}`)

const refused: unknown = await agent.run(greet, { name: '' }).catch((reason: unknown) => reason)
if (!(refused instanceof GateError)) throw new Error('The payload should be refused.', { cause: refused })
console.log(`5. A payload that does not match the schema is refused: ${refused.message}`)
const failed: unknown = await agent.run(greet, { name: 'Voldemort' }).catch((reason: unknown) => reason)
if (!(failed instanceof TaskFailed)) throw new Error('The task should have failed.', { cause: failed })
console.log(`   A task can fail permanently: ${JSON.stringify(failed.task.result?.error)}`)

console.log('6. The ledger shows who did what:')
for await (const receipt of agent.receipts({ task_id: submitted.id })) {
  console.log(`   ${receipt.receipt_type.padEnd(18)} from ${receipt.from.id} to ${receipt.to.id}`)
}

greeter.stop()
await stopped
await gate.stop()
console.log('7. The worker and the gate have stopped.')
