/**
 * Tests the built server with MCP clients of other vendors: each lists the tools and runs a task to its end; those
 * that support MCP Tasks also call a task tool. The clients are installed under .cache/clients, so that they are not
 * dependencies of the project.
 *
 *   npm run clients                all clients
 *   npm run clients -- inspector   clients whose name contains one of these words
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { DEFAULT_TOOL_SETS } from '../src/core/tool-sets.ts'
import { OPERATIONS } from '../src/features/catalogue.ts'
import { listingOf, listsOperation, toolName } from '../src/mcp/tools/listing.ts'
import { clientNode, installClients, PACKAGES, reason } from './client-packages.ts'

const here = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** The MCP revision that a client of each era must negotiate. */
const REVISIONS = { modern: '2026-07-28', legacy: '2025-11-25' } as const

interface Client {
  readonly name: string
  readonly package: keyof typeof PACKAGES
  /** A file of scripts/clients. */
  readonly program: string
  readonly era: keyof typeof REVISIONS
  /** Whether the client follows a call that has become an MCP task to its result. */
  readonly knowsTasks?: boolean
}

const CLIENTS: readonly Client[] = [
  {
    name: 'SDK v1',
    package: '@modelcontextprotocol/sdk',
    program: 'sdk-v1',
    era: 'legacy',
    knowsTasks: true,
  },
  { name: 'SDK v2', package: '@modelcontextprotocol/client', program: 'sdk-v2', era: 'modern' },
  { name: 'SDK v2', package: '@modelcontextprotocol/client', program: 'sdk-v2', era: 'legacy' },
  {
    name: 'Inspector CLI',
    package: '@modelcontextprotocol/inspector',
    program: 'inspector',
    era: 'modern',
    knowsTasks: true,
  },
  { name: 'Inspector CLI', package: '@modelcontextprotocol/inspector', program: 'inspector', era: 'legacy' },
  { name: 'AI SDK', package: '@ai-sdk/mcp', program: 'ai-sdk', era: 'modern' },
  { name: 'LangChain', package: '@langchain/mcp-adapters', program: 'langchain', era: 'legacy' },
]

const START_LIMIT_MS = 20_000
const CLIENT_LIMIT_MS = 60_000
/** The server itself takes at most 10 s to stop. */
const STOP_LIMIT_MS = 12_000

const main = here('dist/cli/main.js')
const running = new Set<ChildProcess>()
/** Home and working directory of all processes, so that they neither read nor change those of the user. */
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-clients-'))
const environment = {
  cwd: folder,
  env: {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(path|systemroot)$/i.test(name))),
    HOME: folder,
    USERPROFILE: folder,
    TMPDIR: folder,
    TEMP: folder,
  },
}

process.on('exit', () => {
  for (const child of running) kill(child)
  rmSync(folder, { recursive: true, force: true })
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

async function check(): Promise<number> {
  const words = process.argv.slice(2).map((word) => word.toLowerCase())
  const isChosen = ({ name }: Client) => words.some((word) => name.toLowerCase().includes(word))
  const chosen = words.length === 0 ? CLIENTS : CLIENTS.filter(isChosen)
  if (chosen.length === 0) throw new Error(`No client is called that: ${words.join(' ')}`)
  if (!existsSync(main)) throw new Error('The server is not built: run "npm run build" first')
  const cache = await installClients()
  const node = await clientNode()
  const server = await startServer()
  let passed = 0
  for (const client of chosen) {
    const { line, problems } = await drive({ node, cache }, client, `${server.url}/mcp`)
    console.log(`${problems.length === 0 ? 'pass' : 'FAIL'}  ${line}`)
    for (const problem of problems) console.log(`      ${problem.replaceAll('\n', '\n      ')}`)
    if (problems.length === 0) passed++
  }
  const stopped = await server.stop()
  if (!stopped) console.log(`FAIL  the server did not stop within ${STOP_LIMIT_MS / 1000} s`)
  const allWell = passed === chosen.length && stopped
  if (!allWell && server.log() !== '') console.log(`The server said:\n${server.log()}`)
  console.log(`${passed} of ${chosen.length} clients passed`)
  return allWell ? 0 : 1
}

/** A tool without a wait: only a client that follows the task sees its result. */
const ECHO = { type: 'echo', tool: { name: 'echo', wait_seconds: 0 } }

/** Starts a server with a worker for tasks of type echo, and a database that is deleted with the folder. */
async function startServer() {
  const types = join(folder, 'types.json')
  writeFileSync(types, JSON.stringify([ECHO]))
  const args = [main, 'dev', '--port', '0', '--database-url', 'sqlite:gate.db']
  const child = spawn(process.execPath, args, {
    ...environment,
    env: { ...environment.env, ASYNCGATE_TASK_TYPES_FILE: types },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = watch(child)
  const said = collect(child.stderr)
  // The output without the warning about the missing key.
  const log = () =>
    said()
      .replaceAll(/^!!.*\n?/gm, '')
      .trim()
  const ready = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, url] = /listening on (\S+)$/.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
  })
  const early = ended.then((how) => {
    throw new Error(`The server ended before it was ready (${how}):\n${log()}`)
  })
  const late = sleep(START_LIMIT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`The server was not ready within ${START_LIMIT_MS / 1000} s:\n${log()}`)
  })
  early.catch(() => {})
  late.catch(() => {})
  return {
    url: await Promise.race([ready, early, late]),
    log,
    /** Returns whether the server has stopped by itself. */
    async stop(): Promise<boolean> {
      child.kill()
      return Promise.race([ended.then(() => true), sleep(STOP_LIMIT_MS, false, { ref: false })])
    },
  }
}

const Report = z.union([
  z.object({ problem: z.string() }),
  z.object({
    revision: z.string().optional(),
    tools: z.array(z.string()),
    task: z.looseObject({ status: z.string(), done: z.boolean(), result: z.unknown().optional() }),
    followed: z.unknown().optional(),
    ms: z.number(),
  }),
])
type Report = z.infer<typeof Report>

interface Place {
  readonly node: string
  /** The folder of the installed clients. */
  readonly cache: string
}

/** Runs one client, and returns a line about it and its problems. */
async function drive(place: Place, client: Client, url: string) {
  const title = `${client.name.padEnd(13)}  ${PACKAGES[client.package].padEnd(6)}`
  const report = await reportOf(place, client, url)
  if ('problem' in report) return { line: `${title}  ${client.era}`, problems: [report.problem] }

  const { revision, tools, task, followed, ms } = report
  const counted = `${tools.length} tools`
  const tasks = client.knowsTasks ? '  MCP task' : ''
  const line = `${title}  ${client.era} ${revision ?? '(unknown)'}  ${counted}  task ${task.status}${tasks}  ${ms.toFixed(0)} ms`
  const offered = OPERATIONS.filter((operation) => listsOperation(listingOf(DEFAULT_TOOL_SETS), operation))
  const expected = [...offered.map(({ name }) => toolName(name)), ECHO.tool.name]
  const missing = expected.filter((name) => !tools.includes(name))
  const unknown = tools.filter((name) => !expected.includes(name))
  const echoed = Echo.safeParse(task.result)
  const problems = [
    revision !== REVISIONS[client.era] && `it should use revision ${REVISIONS[client.era]}`,
    missing.length > 0 && `tools that are not listed: ${missing.join(', ')}`,
    unknown.length > 0 && `tools that are not in the catalogue: ${unknown.join(', ')}`,
    !(task.done && task.status === 'succeeded') && `the task has not succeeded: ${JSON.stringify(task)}`,
    echoed.data?.echo.from !== client.program && `its result is ${JSON.stringify(task.result)}`,
    client.knowsTasks === true &&
      Echo.safeParse(followed).data?.echo.from !== client.program &&
      `the MCP task came to ${JSON.stringify(followed)}`,
  ]
  return { line, problems: problems.filter((problem) => problem !== false) }
}

const Echo = z.object({ echo: z.object({ from: z.string() }) })

async function reportOf({ node, cache }: Place, { program, era }: Client, url: string): Promise<Report> {
  const child = fork(join(cache, 'programs/run.js'), [program, era, url], {
    ...environment,
    execPath: node,
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  })
  const ended = watch(child)
  const log = collect(child.stdout, child.stderr)
  const failed = (what: string): Report => ({ problem: `${what}\n${log()}`.trimEnd() })
  try {
    return await Promise.race([
      once(child, 'message').then(([message]) => Report.parse(message)),
      ended.then((how) => failed(`it ended without an answer (${how})`)),
      sleep(CLIENT_LIMIT_MS, undefined, { ref: false }).then(() =>
        failed(`it was not done within ${CLIENT_LIMIT_MS / 1000} s`),
      ),
    ])
  } catch (error) {
    return failed(reason(error))
  } finally {
    kill(child)
  }
}

/** Tracks a child process until it ends, and returns how it ended. */
async function watch(child: ChildProcess): Promise<string> {
  running.add(child)
  try {
    const [code, signal] = await once(child, 'close')
    return signal ?? `exit code ${code}`
  } catch (error) {
    return reason(error)
  } finally {
    running.delete(child)
  }
}

/** Collects the last part of the output of streams. */
function collect(...streams: (Readable | null)[]): () => string {
  let text = ''
  for (const stream of streams) {
    stream?.on('data', (chunk: Buffer) => {
      text = (text + chunk).slice(-4000)
    })
  }
  return () => text
}

/** Kills a child process and its descendants. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

try {
  process.exitCode = await check()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  for (const child of running) kill(child)
}
