import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { startCli, testFolder } from '../../cli/support.ts'
import { PROGRAM } from '../../support/program.ts'
import { until } from '../calls/support.ts'

interface Started {
  /** Options of `asyncgate gateway`. */
  readonly options?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** The command line of an MCP server that is a module of node_modules. */
export function installedProgram(module: string): readonly string[] {
  return [process.execPath, fileURLToPath(import.meta.resolve(module))]
}

/** `asyncgate gateway` on a free port with this upstream program, as a process that ends with the test. */
export function spawnGateway(
  program: readonly string[],
  { options = [], cwd = testFolder(), env = {} }: Started = {},
) {
  const { process: child, ended } = startCli(
    ['gateway', '--port', '0', ...options, '--', ...program],
    cwd,
    env,
  )
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let output = ''
  let isEnded = false
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output += String(text)
    })
  }
  void ended.then(() => {
    isEnded = true
  })
  return {
    cwd,
    child,
    ended,
    /** The output to stdout and stderr so far. */
    output: () => output,
    /** Waits until the text was written, and throws if the process ends without it. */
    async wrote(text: string): Promise<void> {
      await until(() => isEnded || output.includes(text))
      if (!output.includes(text)) throw new Error(`The gateway ended without "${text}":\n${output}`)
    },
  }
}

/** Waits until the gateway serves, and connects a client to it over HTTP. */
export async function startGateway(
  program: readonly string[],
  { clientName = 'test', ...started }: Started & { readonly clientName?: string } = {},
) {
  const gateway = spawnGateway(program, started)
  await gateway.wrote('approvals deny')
  const [, url = ''] = /listening on (http:\S+)/.exec(gateway.output()) ?? []
  const client = new Client({ name: clientName, version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp${PROGRAM}`)))
  onTestFinished(() => client.close())
  const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } })
  return { ...gateway, url, client, call }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
