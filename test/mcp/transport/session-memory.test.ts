import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { EVENTS, RawClient, VERSION } from './talking.ts'

/** Sessions that are opened. Set SESSIONS=5000 to measure the number that the documentation states. */
const COUNT = Number(process.env.SESSIONS ?? 300)
const MAX_BYTES_FOR_5000 = 100 * 1024 * 1024

const Memory = z.object({ rss: z.number(), heapUsed: z.number() })

async function measure(child: ChildProcess) {
  const answered = once(child, 'message')
  child.send('measure')
  const [memory] = await answered
  return Memory.parse(memory)
}

/** Opens the stream of a session and does not read it. */
function openStream(url: string, id: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      accept: 'text/event-stream',
      'mcp-session-id': id,
      'mcp-protocol-version': VERSION,
    }
    get(url, { agent, headers }, (response) => {
      response.on('error', () => {})
      response.pause()
      resolve()
    }).on('error', reject)
  })
}

it('5,000 idle sessions with open streams need less than 100 MB', async () => {
  const script = fileURLToPath(new URL('session-memory-child.ts', import.meta.url))
  const child = fork(script, { execArgv: ['--expose-gc', '--import', 'tsx'] })
  onTestFinished(() => void child.kill())
  const [address] = await once(child, 'message')
  const url = `http://127.0.0.1:${z.object({ port: z.number() }).parse(address).port}/mcp`
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const initialize = async () => {
    const client = await RawClient.initialize(url, {}, EVENTS)
    await client.send(url, { method: 'notifications/initialized' })
    return client
  }
  const often = async (count: number, run: () => Promise<unknown>) => {
    for (let i = 0; i < count; i += 20) await Promise.all(Array.from({ length: 20 }, run))
  }
  const open = async () => openStream(url, (await initialize()).id, agent)
  // Neither what is loaded and compiled on the way counts, nor the garbage of the requests.
  await often(1_000, initialize)
  await often(100, open)
  const before = await measure(child)
  await often(COUNT, open)
  const after = await measure(child)
  const each = { rss: (after.rss - before.rss) / COUNT, heap: (after.heapUsed - before.heapUsed) / COUNT }
  console.info(
    `${COUNT} sessions: ${Math.round(each.rss)} bytes of RSS and ${Math.round(each.heap)} of heap each`,
  )
  expect(each.rss * 5_000).toBeLessThan(MAX_BYTES_FOR_5000)
  expect(each.heap * 5_000).toBeLessThan(MAX_BYTES_FOR_5000)
}, 300_000)
