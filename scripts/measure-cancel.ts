/**
 * Measures how long a cancellation by an MCP client takes to reach the upstream through a gateway process. Exits with 1
 * if a cancellation did not reach the upstream, a task was not canceled, or one took longer than the target.
 *
 *   npm run build && node --import tsx scripts/measure-cancel.ts [CLIENT...]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'
import { clientNode, installClients } from './client-packages.ts'

const CALLS = 10
const TARGET_MS = 100
const LIMIT_MS = 20_000
const TOOL = 'slow__write'

const here = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const main = here('dist/cli/main.js')
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-cancel-'))
const log = join(folder, 'log')
const config = join(folder, 'config')
const env = { PATH: process.env.PATH ?? '', HOME: folder, ASYNCGATE_CONFIG_DIR: config }
const upstream = ['--', process.execPath, here('test/proofs/children/counting-upstream.js'), log]
const command = (...options: string[]) => [main, 'gateway', '--allow', 'all', '--name', 'slow', ...options]
const children = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

/** A connected client. */
interface Connection {
  /** Starts a call of the slow tool, and returns the function that cancels it. */
  call(args: Readonly<Record<string, unknown>>): () => void
  /** The address of its gateway. */
  readonly url: string
  close(): Promise<unknown>
}

type Connect = (url: string) => Promise<Connection>

const sdkV2 =
  (era: 'modern' | 'legacy'): Connect =>
  async (url) => {
    const client = clientV2(era)
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    return {
      ...abortable((args, signal) => client.callTool(args, { signal })),
      url,
      close: () => client.close(),
    }
  }

const inspector =
  (era: 'modern' | 'legacy', signal: NodeJS.Signals): Connect =>
  async (url) => {
    const node = await clientNode()
    const launcher = join(
      await installClients(),
      'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
    )
    const options = ['--transport', 'http', '--protocol-era', era, '--stored-auth-only', '--format', 'json']
    return {
      call(args) {
        const tool = ['--tool-name', TOOL, '--tool-args-json', JSON.stringify(args)]
        const words = [launcher, '--cli', `${url}/mcp`, ...options, '--method', 'tools/call', ...tool]
        const child = start(node, words)
        return () => child.kill(signal)
      },
      url,
      close: async () => {},
    }
  }

const CLIENTS: Readonly<Record<string, Connect>> = {
  'SDK v1': async (url) => {
    const client = new ClientV1({ name: 'measure', version: '1' })
    await client.connect(new HttpV1(new URL(`${url}/mcp`)))
    const calls = abortable((args, signal) => client.callTool(args, undefined, { signal }))
    return { ...calls, url, close: () => client.close() }
  },
  'SDK v2, 2026-07-28': sdkV2('modern'),
  'SDK v2, 2025-11-25': sdkV2('legacy'),
  'Inspector CLI, 2026-07-28': inspector('modern', 'SIGINT'),
  'Inspector CLI, 2025-11-25': inspector('legacy', 'SIGINT'),
  'Inspector CLI, 2025-11-25, SIGTERM': inspector('legacy', 'SIGTERM'),
  stdio: async () => connectStdio(),
  // The gateway of the first client serves the second, whose process relays messages.
  'stdio, joined': async () => {
    const first = await connectStdio()
    const second = await connectStdio()
    return { ...second, close: () => Promise.all([second.close(), first.close()]) }
  },
}

async function connectStdio(): Promise<Connection> {
  const args = [...command('--stdio'), ...upstream]
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    cwd: folder,
    env,
    stderr: 'pipe',
  })
  let errors = ''
  transport.stderr?.on('data', (text) => {
    errors += String(text)
  })
  const client = clientV2('legacy')
  await client.connect(transport)
  await until('the address of the gateway', () => errors.includes('--url '))
  const [, url = ''] = /--url (http:[^\s"]+)/.exec(errors) ?? []
  return {
    ...abortable((args, signal) => client.callTool(args, { signal })),
    url,
    close: () => client.close(),
  }
}

function clientV2(era: 'modern' | 'legacy'): Client {
  const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const
  return new Client({ name: 'measure', version: '1' }, era === 'modern' ? pinned : {})
}

/** Calls of an SDK, which are canceled with an AbortSignal. */
function abortable(
  call: (
    request: { name: string; arguments: Record<string, unknown> },
    signal: AbortSignal,
  ) => Promise<unknown>,
): Pick<Connection, 'call'> {
  return {
    call(args) {
      const stop = new AbortController()
      call({ name: TOOL, arguments: { ...args } }, stop.signal).catch(() => {})
      return () => stop.abort()
    },
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  child.once('close', () => children.delete(child))
  return child
}

/** The gateway of the README, over HTTP. */
async function startGateway() {
  const child = start(process.execPath, [...command('--port', '0'), ...upstream])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output += String(text)
    })
  }
  await until('the gateway', () => output.includes('approvals deny') || child.exitCode !== null)
  const [, url] = /listening on (http:\S+)/.exec(output) ?? []
  if (url === undefined) throw new Error(`The gateway did not start:\n${output}`)
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}

async function until(what: string, check: () => boolean): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  while (!check()) {
    if (performance.now() > deadline)
      throw new Error(`Gave up waiting for ${what} after ${LIMIT_MS / 1000} s`)
    await delay(2)
  }
}

const lines = () => readFileSync(log, 'utf8').split('\n')

/** The milliseconds from the cancellation of one call to the log line of the upstream. */
async function measureOne({ call }: Connection, key: string): Promise<number> {
  const cancel = call({ key, ms: 600_000 })
  await until(`the upstream to run ${key}`, () => lines().includes(`run ${key}`))
  const canceledAt = process.hrtime.bigint()
  cancel()
  const prefix = `canceled ${key} `
  await until(`the upstream to be notified of the cancellation of ${key}`, () =>
    lines().some((line) => line.startsWith(prefix)),
  )
  const [, , at = ''] =
    lines()
      .find((line) => line.startsWith(prefix))
      ?.split(' ') ?? []
  return Number(BigInt(at) - canceledAt) / 1e6
}

const Tasks = z.object({ tasks: z.array(z.looseObject({ task_id: z.string(), status: z.string() })) })

/** The tasks of all calls, as the user who runs the gateway sees them. */
async function tasksAt(url: string): Promise<z.infer<typeof Tasks>['tasks']> {
  const key = readFileSync(join(config, 'local-key'), 'utf8').trim()
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/v1/tasks?type=mcp.tool_call&limit=100`, { headers })
  return Tasks.parse(await response.json()).tasks
}

/** Measures one client, prints its row and returns whether it meets the target. */
async function measure(name: string, connect: Connect): Promise<boolean> {
  const gateway = name.startsWith('stdio') ? undefined : await startGateway()
  const connection = await connect(gateway?.url ?? '')
  const before = new Set((await tasksAt(connection.url)).map(({ task_id }) => task_id))
  const taken: number[] = []
  let problem = ''
  try {
    for (let n = 0; n < CALLS; n++)
      taken.push(await measureOne(connection, `${name.replaceAll(' ', '-')}-${n}`))
  } catch (error) {
    problem = String(error)
  }
  const tasks = (await tasksAt(connection.url)).filter(({ task_id }) => !before.has(task_id))
  await connection.close()
  await gateway?.stop()
  const statuses = [...new Set(tasks.map(({ status }) => status))].join(', ')
  const sorted = taken.toSorted((a, b) => a - b)
  const [median, slowest] = [sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0]
  const numbers = `${median.toFixed(1)} ms | ${slowest.toFixed(1)} ms`
  console.log(
    `| ${name} | ${taken.length} | ${numbers} | ${tasks.length} ${statuses} |${problem && ` ${problem}`}`,
  )
  return taken.length === CALLS && slowest <= TARGET_MS && statuses === 'canceled'
}

if (!existsSync(main)) throw new Error('The server is not built: run "npm run build" first')
writeFileSync(log, '')
const words = process.argv.slice(2).map((word) => word.toLowerCase())
console.log('| client | calls | median | slowest | tasks |\n|---|---|---|---|---|')
for (const [name, connect] of Object.entries(CLIENTS)) {
  if (words.length > 0 && !words.some((word) => name.toLowerCase().includes(word))) continue
  if (!(await measure(name, connect))) process.exitCode = 1
}
process.exit()
