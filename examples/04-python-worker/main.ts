/**
 * A worker in Python that uses only the standard library. gate_worker.py implements the protocol, and worker.py has
 * the tasks.
 *
 *   npm run examples -- 04
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { client, GateError } from 'asyncgate/client'
import { startGate } from '../gate.ts'

const gate = await startGate()
console.log(`1. A gate runs at ${gate.url}.`)

const script = fileURLToPath(new URL('worker.py', import.meta.url))
const python = spawn('python3', ['-B', script], {
  env: { PATH: process.env.PATH, ASYNCGATE_URL: gate.url, WORKER_ID: 'snake', GRACE_SECONDS: '0' },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const ended = once(python, 'exit')
// The worker must not outlive the example, even if it fails.
process.once('exit', () => python.kill('SIGKILL'))
console.log('2. A worker in Python waits for tasks.')

const agent = client({ url: gate.url, agent: 'alice' })
const timeoutMs = 30_000
const counted = await agent.run('word_count', { text: 'as many words as these' }, { timeoutMs })
console.log(`3. alice requests a word count: ${JSON.stringify(counted)}`)

const tried = await agent.run('flaky', { failures: 1 }, { max_attempts: 3, timeoutMs })
console.log(`4. A temporary failure is retried: ${JSON.stringify(tried)}`)

const error: unknown = await agent
  .run('word_count', { text: 5 }, { timeoutMs })
  .catch((reason: unknown) => reason)
if (!(error instanceof GateError)) throw new Error('The task should have been refused.', { cause: error })
console.log(`5. A payload that does not match the published schema is refused: ${error.message}`)

const long = await agent.submit('count_down', { seconds: 600 })
while ((await agent.getTask({ task_id: long.id })).status === 'queued') await setTimeout(50)
python.kill('SIGTERM')
const [code] = await ended
const { status, attempt } = await agent.getTask({ task_id: long.id })
console.log(
  `6. The worker is stopped and exits with ${code}; its task is ${status} again, attempt ${attempt}.`,
)
if (code !== 0 || status !== 'queued' || attempt !== 0) throw new Error('The task should have been released.')

await gate.stop()
console.log('7. The gate has stopped.')
