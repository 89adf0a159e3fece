import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROGRAM } from '../support/program.ts'
import { cli, folder, type Server, startCli, startServer, testFolder } from './support.ts'

let home: string
let server: Server
beforeAll(async () => {
  home = folder()
  // dev is the default command.
  server = await startServer([], home)
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

describe('asyncgate dev', () => {
  it('dev listens on loopback when it prints its URL', async () => {
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
  })

  it('dev prints commands for an agent and a worker', async () => {
    const shown = server.output()
    expect(shown).toContain(`claude mcp add --transport http asyncgate ${server.url}/mcp`)
    expect(shown).toContain(`curl -s ${server.url}/v1/leases/claim`)
    expect(shown).not.toContain('\u001b')
  })

  it('dev serves the console and the files that its pages load', async () => {
    expect(server.output()).toContain(`console ${server.url}/console`)
    // A request without a cookie gets one, and is redirected to the overview.
    const page = await fetch(`${server.url}/console`)
    const text = await page.text()
    expect(text).toContain('<title>Overview')
    const files = Array.from(text.matchAll(/"(\/console\/[\w.-]+\.(?:css|js))"/g), ([, path]) => path)
    expect(files).toHaveLength(2)
    for (const path of files) expect((await fetch(`${server.url}${path}`)).status).toBe(200)
  })

  it('dev includes an echo worker, and tasks create --wait prints the outcome', async () => {
    const create = ['tasks', 'create', 'echo', '--payload', '{"hello":"world"}', '--wait']
    const env = { ASYNCGATE_URL: server.url }
    const { code, stdout } = await cli([...create, '--json'], env)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'succeeded',
      result: { result: { echo: { hello: 'world' } } },
    })
    const shown = await cli(create, env)
    expect(shown.stdout).toMatch(
      /^status +succeeded\ntook +[\d.]+ (ms|s)\nresult +\{"echo":\{"hello":"world"\}\}\ntask +[\w-]+\nconsole +http:\S+\n$/,
    )
    expect(shown.stdout).toContain(`${server.url}/console/tasks/`)
  })

  it('--no-demo starts no worker, and excludes --demo', async () => {
    const plain = await startServer(['dev', '--no-demo'], testFolder())
    const { stdout } = await cli(['workers'], { ASYNCGATE_URL: plain.url })
    expect(stdout).not.toContain('echo')
    expect((await plain.stop()).stdout).not.toContain('tasks create echo')
    expect(await cli(['dev', '--demo', '--no-demo'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not both'),
    })
    const accepted = await startServer(['dev', '--demo'], testFolder())
    expect((await accepted.stop()).stdout).toContain('tasks create echo')
  })

  it('dev serves MCP to a client without a handshake', async () => {
    const response = await fetch(`${server.url}/mcp${PROGRAM}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    expect(await response.text()).toContain('asyncgate_create_task')
  })

  it('dev refuses a database that another server uses', async () => {
    const second = await startCli(['dev', '--port', '0'], home).ended
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toContain(
      '.asyncgate/asyncgate.db cannot be opened: it is in use by another process',
    )
    expect(second.stderr).not.toContain('    at ')
  })

  it('dev refuses to run outside of development', async () => {
    const refused = await cli(['dev', '--port', '0'], { ASYNCGATE_ENV: 'production' })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('Use "asyncgate serve".')
    const open = await cli(['dev', '--port', '0', '--host', '0.0.0.0'])
    expect(open).toMatchObject({ code: 1, stdout: '' })
    expect(open.stderr).toContain('Set ASYNCGATE_API_KEY')
  })

  it('dev warns that no key is required, and exits with 0 on SIGTERM', async () => {
    const { code, stderr } = await server.stop()
    expect(code).toBe(0)
    expect(stderr).toContain('INSECURE')
    await expect(fetch(`${server.url}/health/live`)).rejects.toThrow()
  })
})
