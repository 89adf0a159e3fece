/**
 * An agent calls a tool that writes a file. A rule requires approval, so the call returns immediately and the agent
 * continues. The gate crashes and restarts. Later a person edits the content and approves.
 *
 *   npm run examples -- 06
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { startGate } from '../gate.ts'
import { agent, behindTheGate, rest, serverFile } from '../gateway.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'asyncgate-files-')))
const path = join(folder, 'note.txt')
const ANNA = 'a-key-that-only-anna-has'

const files = { name: 'files', command: process.execPath, args: [serverFile('server-filesystem'), folder] }
const gate = await startGate({
  ...behindTheGate(folder, files, [
    { id: 'reading', scope: { upstream: 'files', tool: 'read_*' }, action: 'ALLOW' },
    { id: 'writing', scope: { upstream: 'files', tool: 'write_file' }, action: 'REQUIRE_APPROVAL' },
  ]),
  ASYNCGATE_ADMIN_KEYS: `anna=${ANNA}`,
})

const alice = await agent(gate.url, 'alice')
await alice.offered('files__write_file')
const asked = await alice.call('files__write_file', { path, content: 'Pay 10,000 to Bob' })
const { task_id } = z.object({ task_id: z.string(), status: z.literal('pending_approval') }).parse(asked)
console.log(`1. alice calls files__write_file, which returns immediately: ${asked.status}, task ${task_id}.`)
await alice.close()

await gate.crash()
console.log('2. The gate is killed and restarted. No client is connected.')

const approval = z
  .object({ approvals: z.array(z.object({ task_id: z.string(), task: z.object({ payload: z.unknown() }) })) })
  .parse(await rest(gate.url, '/v1/approvals', undefined, ANNA)).approvals[0]
if (approval?.task_id !== task_id) throw new Error('The approval is lost.')
console.log(`3. Anna reads the open approval: ${JSON.stringify(approval.task.payload)}`)

const edited = { upstream: 'files', tool: 'write_file', arguments: { path, content: 'Pay 10 to Bob' } }
await rest(gate.url, `/v1/approvals/${task_id}/approve`, { payload: edited, comment: 'Less.' }, ANNA)
console.log('4. Anna changes the amount and approves.')

const later = await agent(gate.url, 'alice')
const waited = await later.call('asyncgate.wait_for_task', { task_id, wait_seconds: 30 })
console.log(`5. alice reconnects and waits for task ${task_id}: ${waited.status}.`)
console.log(`6. The file contains: ${readFileSync(path, 'utf8')}`)
if (readFileSync(path, 'utf8') !== 'Pay 10 to Bob')
  throw new Error('The file differs from the approved content.')
await later.close()

const { receipts } = z
  .object({ receipts: z.array(z.object({ receipt_type: z.string() })) })
  .parse(await rest(gate.url, `/v1/receipts?task_id=${task_id}`, undefined, ANNA))
console.log(`7. Receipts: ${receipts.map(({ receipt_type }) => receipt_type).join(', ')}.`)

await gate.stop()
rmSync(folder, { recursive: true, force: true })
