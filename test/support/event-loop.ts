import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { folder, type Server, startServer, testFolder } from '../cli/support.ts'

/** A server in a separate process that answers `GET /health/live`. */
export interface ServedProcess {
  readonly url: string
  /** The id of the process; without it, time in which other programs had the processor counts as time of the server. */
  readonly pid?: number | undefined
}

/** A request; a GET if it has no body. */
export interface Sent {
  readonly body?: Buffer | object
  readonly headers?: Readonly<Record<string, string>>
}

/** An unparsed response: parsing a large one takes longer than sending it. */
export interface Received {
  readonly status: number
  readonly text: string
}

interface Probed {
  readonly probes: number
  readonly slowestMs: number
}

const PROBE = new URL('./event-loop-probe.js', import.meta.url)
const EVERY_MS = 20
const LIMIT_MS = 250
const ROUNDS = 3

/**
 * Starts `asyncgate dev` on an empty SQLite database in a separate process, and stops it after the test. `env` contains
 * settings, for example `ASYNCGATE_DATABASE_URL` or `ASYNCGATE_API_KEY`.
 */
export async function serveInProcess(env: Readonly<Record<string, string>> = {}): Promise<ServedProcess> {
  const server = await startServer(['dev', '--no-demo'], testFolder(), env)
  onTestFinished(async () => {
    await server.stop()
  })
  return { url: server.url, pid: server.process.pid }
}

/** Starts the same server for all tests of a file. */
export function serveForAllTests(): () => ServedProcess {
  const path = folder()
  let server: Server | undefined
  beforeAll(async () => {
    server = await startServer(['dev', '--no-demo'], path)
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(path, { recursive: true, force: true })
  })
  return () => {
    if (server === undefined) throw new Error('the server has not started')
    return { url: server.url, pid: server.process.pid }
  }
}

const agent = new Agent({ keepAlive: true })

/** Sends a request and reads the complete response. Buffers are sent unchanged. */
export async function send({ url }: ServedProcess, path: string, sent: Sent = {}): Promise<Received> {
  const { body, headers } = sent
  const isPost = body !== undefined
  const call = request(`${url}${path}`, {
    agent,
    method: isPost ? 'POST' : 'GET',
    headers: { ...(isPost && { 'content-type': 'application/json' }), ...headers },
  })
  call.end(body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  const [message]: IncomingMessage[] = await once(call, 'response')
  if (message === undefined) throw new Error('no answer')
  // A server that refuses a body closes the connection while it is still being sent.
  call.on('error', () => {})
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return { status: message.statusCode ?? 0, text: Buffer.concat(chunks).toString('latin1') }
}

/**
 * Runs `hostile` while `GET /health/live` is probed every 20 ms, and expects that no probe takes longer than 250 ms.
 * Time in which the server or the prober was ready to run, but other programs had the processors, does not count. Since
 * a probe can still be late on a busy machine, `hostile` runs again, up to three times, after a round with a late
 * probe: a server that blocks is late in each of them. `hostile` must be repeatable.
 */
export async function whileProbing<T>(server: ServedProcess, hostile: () => Promise<T>): Promise<T> {
  const slowest: number[] = []
  for (;;) {
    const { result, probed } = await round(server, hostile)
    expect(probed.probes, 'probes while the hostile work ran').toBeGreaterThan(0)
    if (probed.slowestMs <= LIMIT_MS) return result
    slowest.push(Math.round(probed.slowestMs))
    if (slowest.length < ROUNDS) continue
    expect.fail(`The slowest probe took ${slowest.join(', ')} ms in ${ROUNDS} rounds: over ${LIMIT_MS} ms`)
  }
}

async function round<T>(
  { url, pid }: ServedProcess,
  hostile: () => Promise<T>,
): Promise<{ result: T; probed: Probed }> {
  const prober = new Worker(PROBE, { workerData: { url, pid, everyMs: EVERY_MS } })
  const failed = new Promise<never>((_, reject) => prober.once('error', reject))
  failed.catch(() => {})
  try {
    await once(prober, 'message')
    const result = await Promise.race([hostile(), failed])
    const answered = once(prober, 'message')
    prober.postMessage('stop')
    const [probed]: Probed[] = await Promise.race([answered, failed])
    if (probed === undefined) throw new Error('the prober reported nothing')
    return { result, probed }
  } finally {
    await prober.terminate()
  }
}
