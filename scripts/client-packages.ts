import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'

/** MCP clients of other vendors, in the versions that the scripts use. */
export const PACKAGES = {
  '@modelcontextprotocol/sdk': '1.32.2',
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/inspector': '2.12.0',
  '@ai-sdk/mcp': '2.0.93',
  '@langchain/mcp-adapters': '1.1.4',
  // Peer dependencies of the LangChain adapters.
  '@langchain/core': '1.2.13',
  '@langchain/langgraph': '1.4.18',
} as const

const INSTALL_LIMIT_MS = 300_000

const execute = promisify(execFile)
const here = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** Installs the clients under .cache/clients unless they are installed, and returns that folder. */
export async function installClients(): Promise<string> {
  const folder = here('.cache/clients')
  mkdirSync(folder, { recursive: true })
  const manifest = { private: true, type: 'module', dependencies: PACKAGES }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...options], folder).catch((error) => {
    throw new Error(`The clients could not be installed: ${reason(error)}`)
  })
  // The programs import the clients, so they run from a copy inside the folder.
  rmSync(join(folder, 'programs'), { recursive: true, force: true })
  cpSync(here('scripts/clients'), join(folder, 'programs'), { recursive: true })
  return folder
}

/** Some clients need Node 22.19; on an older version all of them run under the npm package `node`. */
export async function clientNode(): Promise<string> {
  if (isRecent(process.version)) return process.execPath
  try {
    const path = await run('npx', ['--yes', '-p', 'node@24', 'node', '-p', 'process.execPath'])
    const version = await run(path, ['--version'])
    if (isRecent(version)) return path
    throw new Error(`the npm package has version ${version}`)
  } catch (error) {
    throw new Error(`The clients need Node 22.19 or later: ${reason(error)}`)
  }
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

async function run(command: string, args: readonly string[], cwd?: string): Promise<string> {
  const started = execute(command, args, { cwd, timeout: INSTALL_LIMIT_MS })
  try {
    return (await started).stdout.trim()
  } catch (error) {
    if (started.child.killed) throw new Error(`${command} took longer than ${INSTALL_LIMIT_MS / 1000} s`)
    throw error
  }
}

/** The stderr of a failed command, or else the message of the error. */
export function reason(error: unknown): string {
  const written = z.object({ stderr: z.string().min(1) }).safeParse(error)
  if (written.success) return written.data.stderr.trim()
  return error instanceof Error ? error.message : String(error)
}
