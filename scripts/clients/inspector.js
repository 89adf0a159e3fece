import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const CLI = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
)

/** The exit code when a tool returns an error; the result is printed nevertheless. */
const TOOL_ERROR = 5

/** Each call is a separate process, as in manual use. */
export async function connect(url, era) {
  const options = ['--transport', 'http', '--protocol-era', era, '--stored-auth-only', '--format', 'json']
  const ask = async (method, ...more) => {
    const args = [CLI, '--cli', url, ...options, '--method', method, ...more]
    const { stdout } = await run(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 }).catch((error) => {
      if (error.code === TOOL_ERROR) return error
      throw new Error(error.stderr.trim() || error.message)
    })
    return JSON.parse(stdout).result
  }
  const { protocolVersion } = await ask('initialize')
  const call = (name, args) =>
    ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args))
  return {
    revision: protocolVersion,
    listTools: async () => (await ask('tools/list')).tools.map(({ name }) => name),
    call,
    // The client declares task support and polls until the result is available.
    follow: call,
    close: async () => {},
  }
}
