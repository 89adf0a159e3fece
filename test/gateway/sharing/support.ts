import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { testFolder } from '../../cli/support.ts'
import { until } from '../calls/support.ts'
import { isAlive } from '../support/gateway-process.ts'

export const COUNTER = fileURLToPath(new URL('counter.js', import.meta.url))
/** The built CLI: tests start many processes, and each must start quickly. */
export const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

/** A folder with the journal of the upstream programs that are started in it. */
export function sharedFolder(below = '') {
  const cwd = join(testFolder(), below)
  mkdirSync(cwd, { recursive: true })
  const log = join(cwd, 'journal')
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])
  const pids = (event: string) =>
    lines().flatMap((line) => (line.startsWith(`${event} `) ? [Number(line.slice(event.length))] : []))
  return {
    cwd,
    env: { COUNTER_LOG: log },
    /** The process ids of the upstream programs that were started. */
    started: () => pids('start'),
    slow: () => pids('slow'),
    canceled: () => pids('canceled'),
    running: () => pids('start').filter(isAlive),
  }
}

interface Folder {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export interface StdioClient {
  readonly client: Client
  readonly pid: number
  /** What the gateway wrote to stderr. */
  said(): string
}

export interface Started {
  readonly options?: readonly string[]
  readonly program?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly era?: 'modern' | 'legacy'
}

/** A client with its own `asyncgate gateway --stdio`, started as agents start it. */
export async function startClient(
  { cwd, env }: Folder,
  { options = [], program = [process.execPath, COUNTER], era = 'legacy', env: more = {} }: Started = {},
): Promise<StdioClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      MAIN,
      'gateway',
      '--stdio',
      '--allow',
      'all',
      '--env',
      'COUNTER_LOG',
      ...options,
      '--',
      ...program,
    ],
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env, ...more },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (text) => {
    said += String(text)
  })
  const client = new Client(
    { name: 'test', version: '1' },
    era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  )
  onTestFinished(() => client.close())
  await client.connect(transport).catch((error: unknown) => {
    throw new Error(`${error}: ${said}`)
  })
  return { client, pid: transport.pid ?? 0, said: () => said }
}

/** A separate process that runs a command until it is stopped. */
export function startProcess(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, args, { cwd, env })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += String(text)
    })
  }
  return {
    child,
    ended,
    output: () => output,
    /** Waits for a text; throws with the whole output if the process ends without it. */
    async said(text: string, command = '') {
      await Promise.race([until(() => output.includes(text)), ended])
      if (!output.includes(text)) throw new Error(`${command}\n${output}`)
    },
  }
}

/** `asyncgate gateway` over HTTP, in the same folder. */
export async function startGateway({ cwd, env }: Folder, options: readonly string[] = []) {
  const args = [MAIN, 'gateway', '--port', '0', '--allow', 'all', '--env', 'COUNTER_LOG', ...options]
  const started = startProcess([...args, '--', process.execPath, COUNTER], cwd, {
    PATH: process.env.PATH,
    HOME: cwd,
    ...env,
  })
  await started.said('approvals deny')
  const [, url = ''] = /listening on (http:\S+)/.exec(started.output()) ?? []
  return { ...started, url }
}

export async function callText(client: Client, tool: string, args: object = {}): Promise<string> {
  const { content } = await client.callTool({ name: `counter__${tool}`, arguments: { ...args } })
  const [first] = Array.isArray(content) ? content : []
  return first?.type === 'text' ? first.text : JSON.stringify(content)
}
