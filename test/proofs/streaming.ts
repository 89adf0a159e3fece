import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { client } from '../../src/client/index.ts'
import { childArguments, startChild } from '../support/processes.ts'

export interface StreamOptions {
  readonly channel: 'file' | 'blob' | 's3'
  readonly size: number
  readonly folder: string
  readonly endpoint: string
}

export interface Measurements {
  readonly size: number
  /** Whether the downloaded bytes equal the uploaded ones. */
  readonly isSame: boolean
  /** Peak resident memory of the process in bytes, before the large result and after it. */
  readonly before: number
  readonly peak: number
  readonly putMs: number
  readonly getMs: number
}

/** The peak resident memory of this process. */
export function residentBytes(): number {
  return process.resourceUsage().maxRSS * 1024
}

const CHUNK = 256 * 1024

/** Varied bytes, generated on demand. */
export async function* manyBytes(size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0, n = 0; at < size; n++) {
    const seed = createHash('sha256').update(String(n)).digest()
    const chunk = Buffer.alloc(Math.min(CHUNK, size - at), seed)
    at += chunk.length
    yield chunk
  }
}

/** Stores a result in a channel and reads it again, in a separate process. */
export async function throughChannel(channel: StreamOptions['channel'], size: number): Promise<Measurements> {
  const s3 = channel === 's3' ? await startServing('s3', {}) : undefined
  return inFolder(async (folder) => {
    const options: StreamOptions = { channel, size, folder, endpoint: s3?.address ?? '' }
    const { stdout } = await promisify(execFile)(process.execPath, childArguments('stream', options))
    return JSON.parse(stdout)
  }).finally(() => s3?.finish())
}

/** Uploads a result to a server and downloads it again. Measures the memory of the server. */
export function throughServer(size: number): Promise<Measurements> {
  return inFolder(async (folder) => {
    const server = await startServing('result-server', { folder })
    const url = server.address
    const agent = client({ url, agent: 'alice' })
    const { task_id } = await agent.createTask({ type: 'job' })
    const worker = client({ url })
    const { tasks } = await worker.leaseNext({ worker_id: 'w1' })
    const lease = { worker_id: 'w1', lease_id: tasks[0]?.lease_id ?? '' }
    const address = `${url}/v1/tasks/${task_id}/result`

    const started = performance.now()
    const uploaded = await fetch(`${address}?${new URLSearchParams(lease)}`, {
      method: 'PUT',
      body: manyBytes(size),
      duplex: 'half',
    })
    const artifact: { checksum: string; size: number } = JSON.parse(await uploaded.text())
    const putMs = performance.now() - started
    await worker.complete({ ...lease, task_id, result: null, artifacts: [artifact] })
    const { body } = await fetch(`${address}?principal_id=alice`)
    const hash = createHash('sha256')
    if (body !== null) for await (const chunk of body) hash.update(chunk)
    const getMs = performance.now() - started - putMs
    await server.finish()
    const { before, peak } = JSON.parse(server.lines.at(-1) ?? '')
    const isSame = artifact.checksum === hash.digest('hex')
    return { size: artifact.size, isSame, before, peak, putMs, getMs }
  })
}

/** Starts a script of children/ that prints its address in its first line. */
async function startServing(name: string, options: unknown) {
  const lines: string[] = []
  let say = (_: string) => {}
  const address = new Promise<string>((resolve) => {
    say = resolve
  })
  const child = startChild(name, options, (line) => {
    lines.push(line)
    say(line)
  })
  return { address: await Promise.race([address, child.alive]), lines, finish: child.finish }
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-stream-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
