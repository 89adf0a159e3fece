import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cli, startServer, testFolder } from './support.ts'

const KEY = 'a-key-of-the-tests'

describe('asyncgate serve', () => {
  it('serve requires its key, and on SIGTERM answers waiting callers and exits with 0', async () => {
    const home = testFolder()
    writeFileSync(join(home, 'asyncgate.config.yaml'), 'instance_id: gate-a\n')
    const server = await startServer(['serve'], home, { ASYNCGATE_API_KEY: KEY, ASYNCGATE_ENV: 'production' })
    expect((await fetch(`${server.url}/v1/config`)).status).toBe(401)
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const config = await fetch(`${server.url}/v1/config`, { headers })
    expect(await config.json()).toMatchObject({ instance_id: 'gate-a' })

    const waiting = fetch(`${server.url}/v1/leases/claim`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ worker_id: 'w', wait_seconds: 50 }),
    })
    // The claim was sent first, on its own connection, so it waits when this response arrives.
    await fetch(`${server.url}/v1/config`, { headers })
    const { code, stderr } = await server.stop()
    expect(await (await waiting).json()).toEqual({ tasks: [] })
    expect(code).toBe(0)
    expect(stderr).not.toContain(KEY)
    const logged = stderr.split('\n').filter((line) => line.startsWith('{'))
    expect(logged.map((line) => JSON.parse(line).msg)).toEqual(
      expect.arrayContaining(['listening', 'stopping', 'stopped']),
    )
  })

  it('serve exits immediately on a second signal', async () => {
    const server = await startServer(['serve', '--json'], testFolder(), { ASYNCGATE_API_KEY: KEY })
    expect(JSON.parse(server.output())).toEqual({ event: 'listening', url: server.url })
    // The server would wait for this request, whose body never arrives.
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n',
    )
    await once(socket, 'data')
    server.process.kill('SIGTERM')
    await untilRefused(server.url)
    server.process.kill('SIGTERM')
    expect((await server.ended).code).toBe(143)
    socket.destroy()
  })

  it.each([
    [{ ASYNCGATE_ENV: 'production' }, 'Create an admin key with "asyncgate init"'],
    [
      { ASYNCGATE_METAGATE_URL: 'http://x' },
      'ASYNCGATE_METAGATE_URL is not supported yet (bootstrapping from MetaGate).',
    ],
    [{ ASYNCGATE_HOST: '0.0.0.0' }, 'There is no key'],
    [{ ASYNCGATE_ALLOW_INSECURE_DEV: 'true', ASYNCGATE_ENV: 'staging' }, 'only for development'],
    [{ ASYNCGATE_PROT: '80' }, 'Did you mean ASYNCGATE_PORT?'],
    [{ ASYNCGATE_PORT: 'http' }, 'ASYNCGATE_PORT is not a whole number'],
    [{ ASYNCGATE_DATABASE_URL: 'sqlite:/dev/null/x.db' }, 'The database /dev/null/x.db cannot be opened'],
  ])('serve does not start with %j', async (env, expectedMessage) => {
    const { code, stdout, stderr } = await cli(['serve'], env)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(expectedMessage)
    expect(stderr).not.toContain('    at ')
  })

  it('serve uses its public URL in links and accepts that host name', async () => {
    const server = await startServer(['serve'], testFolder(), {
      ASYNCGATE_API_KEY: KEY,
      ASYNCGATE_PUBLIC_URL: 'https://gate.example/tools/',
    })
    const { status, text } = await asHost(server.url, 'gate.example')
    expect(status).toBe(200)
    const { task_id, console_url } = JSON.parse(text)
    expect(console_url).toBe(`https://gate.example/tools/console/tasks/${task_id}`)
    expect((await asHost(server.url, 'other.example')).status).toBe(403)
    await server.stop()
  })

  it('serve reports a port in use and releases the database', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const args = ['serve', '--port', port, '--database-url', `sqlite:${join(testFolder(), 'a.db')}`]
    for (let time = 0; time < 2; time++) {
      const { code, stderr } = await cli(args, { ASYNCGATE_API_KEY: KEY })
      expect(code).toBe(1)
      expect(stderr).toContain(`Port ${port} of 127.0.0.1 is in use by another program.`)
      expect(stderr).toContain('--port 0 picks a free one')
    }
  })
})

/** Creates a task with a request to this host name. fetch does not permit the Host header. */
async function asHost(url: string, host: string): Promise<{ status: number | undefined; text: string }> {
  const sent = request(`${url}/v1/tasks`, {
    method: 'POST',
    headers: { host, authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  })
  sent.end(JSON.stringify({ type: 'echo' }))
  const [response] = await once(sent, 'response')
  let body = ''
  for await (const chunk of response) body += String(chunk)
  return { status: response.statusCode, text: body }
}

async function untilRefused(url: string): Promise<void> {
  for (;;) {
    const reached = await fetch(`${url}/health/live`).then(
      () => true,
      () => false,
    )
    if (!reached) return
  }
}
