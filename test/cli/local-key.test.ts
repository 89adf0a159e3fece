import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startGateway } from '../gateway/support/gateway-process.ts'
import { cli, startServer, testFolder } from './support.ts'

const KEY = 'q5Vd0nX_2mT-7kLwRz9sYbEa'

/** A configuration folder with a key that every account can read. */
function sharedKey() {
  const folder = testFolder()
  const file = join(folder, 'local-key')
  writeFileSync(file, `${KEY}\n`)
  chmodSync(file, 0o644)
  const mode = () => statSync(file).mode & 0o777
  return { folder, file, mode, env: { ASYNCGATE_CONFIG_DIR: folder } }
}

/** An MCP server with these tools. */
function programWith(...tools: string[]): readonly string[] {
  const script = `
    const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
    const tools = ${JSON.stringify(tools)}.map((name) => ({ name, inputSchema: { type: 'object' } }))
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      const serverInfo = { name: 'x', version: '1' }
      if (method === 'initialize')
        say({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } })
      else if (method === 'tools/list') say({ id, result: { tools } })
      else if (id !== undefined) say({ id, error: { code: -32601, message: 'Method not found' } })
    })`
  return [process.execPath, '-e', script]
}

/** An upstreams file with one program and these arguments. */
function upstreamsFile(...args: string[]): string {
  const file = join(testFolder(), 'upstreams.json')
  const transport = { type: 'stdio', command: process.execPath, args }
  writeFileSync(file, JSON.stringify([{ name: 'files', transport }]))
  return file
}

describe('start of a server', () => {
  it('a start removes the key file of an earlier version from the working folder', async () => {
    const cwd = testFolder()
    const old = join(cwd, '.asyncgate', 'own-key')
    mkdirSync(join(cwd, '.asyncgate'))
    writeFileSync(old, 'the-key-of-an-earlier-version')
    const config = join(testFolder(), 'asyncgate')
    const server = await startServer(['dev'], cwd, { ASYNCGATE_CONFIG_DIR: config })
    expect(existsSync(old)).toBe(false)
    const { stderr } = await server.stop()
    expect(stderr).toContain('.asyncgate/own-key was removed and is no longer valid')
    expect(stderr).toContain(join(config, 'local-key'))
    expect(readFileSync(join(config, 'local-key'), 'utf8')).not.toContain('earlier-version')
  })

  it('a start makes a key file private that other accounts can read, and warns', async () => {
    const { env, mode, file } = sharedKey()
    const server = await startServer(['dev'], testFolder(), env)
    expect(mode()).toBe(0o600)
    const { stderr } = await server.stop()
    expect(stderr).toContain(`${file} was readable by other users`)
    expect(readFileSync(file, 'utf8').trim()).toBe(KEY)
  })
})

describe('asyncgate doctor', () => {
  const doctor = async (env: Readonly<Record<string, string>>) => {
    const options = ['--port', '0', '--database-url', `sqlite:${join(testFolder(), 'gate.db')}`]
    return cli(['doctor', ...options], { ASYNCGATE_ALLOW_INSECURE_DEV: 'true', ...env })
  }

  it('doctor warns of a key file that other accounts can read, without changing it', async () => {
    const { env, mode, file } = sharedKey()
    const { code, stdout } = await doctor(env)
    expect(stdout).toContain(`Other accounts may read your approval key: run "chmod 600 ${file}"`)
    expect(code).toBe(0)
    expect(mode()).toBe(0o644)
    chmodSync(file, 0o600)
    expect((await doctor(env)).stdout).not.toContain('approval key')
  })

  it('doctor reports an upstream that serves the folder of the key', async () => {
    const { env, folder, file } = sharedKey()
    chmodSync(file, 0o600)
    const { code, stdout } = await doctor({
      ...env,
      ASYNCGATE_UPSTREAMS_FILE: upstreamsFile('server.js', folder),
    })
    expect(code).toBe(1)
    expect(stdout).toContain(`The upstream files is given ${folder}, and could read your approval key`)
    expect(stdout).toContain('fix: Give it another folder')
    const elsewhere = upstreamsFile('server.js', testFolder())
    expect(await doctor({ ...env, ASYNCGATE_UPSTREAMS_FILE: elsewhere })).toMatchObject({ code: 0 })
  })
})

describe('start of a gateway', () => {
  it('a start warns of a program with tools that run commands, and names them', async () => {
    const program = programWith('python', 'read_file', 'run_command')
    const { output } = await startGateway(program, { options: ['--name', 'tools'] })
    expect(output()).toContain(
      'tools can run commands as you (python, run_command), so it can read your approval key.',
    )
    expect(output()).toContain('docs/approvals.md#programs-that-run-commands')
  })

  it('a start does not warn of a program without such tools', async () => {
    const { output } = await startGateway(programWith('read_file'), { options: ['--name', 'tools'] })
    expect(output()).not.toContain('can run commands')
  })
})
