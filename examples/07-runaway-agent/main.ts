/**
 * A runaway agent has created 5,000 slow tool calls. One command cancels all of them, including the running ones, without
 * affecting the calls of other agents.
 *
 *   npm run examples -- 07
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { startGate } from '../gate.ts'
import { agent, behindTheGate, rest, serverFile } from '../gateway.ts'

const CALLS = 5000
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-tools-'))
const tools = { name: 'tools', command: process.execPath, args: [serverFile('server-everything')] }
const gate = await startGate(
  behindTheGate(folder, tools, [{ id: 'all', scope: { upstream: 'tools' }, action: 'ALLOW' }]),
)

const slow = (duration: number) => ({
  type: 'mcp.tool_call',
  payload: { upstream: 'tools', tool: 'trigger-long-running-operation', arguments: { duration, steps: 1 } },
})
const mallory = await agent(gate.url, 'mallory')
await mallory.offered('tools__trigger-long-running-operation')
for (let asked = 0; asked < CALLS; asked += 1000) {
  await mallory.call('asyncgate.create_tasks', { tasks: Array.from({ length: 1000 }, () => slow(60)) })
}
console.log(`1. mallory has created ${CALLS} calls of one minute each.`)

const bob = await agent(gate.url, 'bob')
const { task_id } = z.object({ task_id: z.string() }).parse(await bob.call('asyncgate.create_task', slow(1)))
console.log('2. bob creates one call of one second.')

const began = performance.now()
const { stdout } = await promisify(execFile)(process.execPath, [
  gate.main,
  ...['tasks', 'cancel', '--agent', 'mallory', '--reason', 'runaway agent', '--url', gate.url],
])
console.log(
  `3. asyncgate tasks cancel --agent mallory (${((performance.now() - began) / 1000).toFixed(1)} s):`,
)
console.log(stdout.trim().replace(/^/gm, '   '))

const open = z
  .object({ tasks: z.array(z.unknown()) })
  .parse(await rest(gate.url, '/v1/tasks?created_by=agent:mallory&status=queued')).tasks
if (open.length > 0) throw new Error('A task of mallory is still open.')

const waited = await bob.call('asyncgate.wait_for_task', { task_id, wait_seconds: 30 })
console.log(`4. bob's call was not affected, and is ${waited.status}.`)
if (waited.status !== 'succeeded') throw new Error('The call of bob was lost.')

await Promise.all([mallory.close(), bob.close()])
await gate.stop()
rmSync(folder, { recursive: true, force: true })
