/**
 * Two agents share an MCP server. One makes sixty calls at the same time, the other makes one. Each session has its own
 * slots, so the single call does not wait for the sixty.
 *
 *   npm run examples -- 08
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { startGate } from '../gate.ts'
import { agent, behindTheGate, rest, serverFile } from '../gateway.ts'

const CALLS = 60
const TOOL = 'tools__trigger-long-running-operation'
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-tools-'))
const tools = { name: 'tools', command: process.execPath, args: [serverFile('server-everything')] }
const gate = await startGate(
  behindTheGate(folder, tools, [{ id: 'all', scope: { upstream: 'tools' }, action: 'ALLOW' }]),
)

const busy = await agent(gate.url, 'busy')
const calm = await agent(gate.url, 'calm')
await busy.offered(TOOL)

let done = 0
const sixty = Array.from({ length: CALLS }, async () => {
  await busy.call(TOOL, { duration: 0.2, steps: 1 })
  done += 1
})
while (done === 0) await new Promise((resolve) => setTimeout(resolve, 10))
console.log(`1. busy makes ${CALLS} calls of 0.2 s each.`)

const { sessions } = z
  .object({
    sessions: z.array(z.object({ principal: z.string(), running: z.number(), waiting: z.number() })),
  })
  .parse(await rest(gate.url, '/v1/sessions'))
for (const { principal, running, waiting } of sessions) {
  console.log(`2. ${principal}: ${running} running, ${waiting} waiting.`)
}

const [before, began] = [done, performance.now()]
await calm.call(TOOL, { duration: 0.2, steps: 1 })
const seconds = ((performance.now() - began) / 1000).toFixed(1)
console.log(
  `3. calm makes one call, which takes ${seconds} s; ${done - before} calls of busy finished in that time, and ${CALLS - done} are left.`,
)
if (done > CALLS / 2) throw new Error('calm had to wait for busy.')

await Promise.all(sixty)
console.log(`4. All ${done} calls of busy have finished.`)

await Promise.all([busy.close(), calm.close()])
await gate.stop()
rmSync(folder, { recursive: true, force: true })
