import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Authenticator } from '../../src/auth/credential.ts'
import { loadConfig } from '../../src/config/index.ts'
import type { Gate } from '../../src/features/gate.ts'
import { type ConnectionLimits, DEFAULT_LIMITS, limitsOf } from '../../src/server/connection-limits.ts'
import { startServer } from '../../src/server/http-server.ts'
import { admin, describeGates } from '../support/gates.ts'

vi.setConfig({ testTimeout: 30_000 })

const MIB = 1024 * 1024

async function serve(gate: Gate, limits: Partial<ConnectionLimits>) {
  const server = await startServer({
    gate,
    authenticator: new Authenticator({ api_key: null, allow_insecure_dev: true }),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: 8 * MIB,
    limits,
    drainMs: 0,
    graceMs: 50,
  })
  const closeGate = gate.close
  gate.close = async () => {
    await server.close()
    await closeGate()
  }
  return server
}

interface Raw {
  readonly socket: Socket
  /** All that the server sends, when it has closed the connection. */
  readonly closed: Promise<string>
}

async function raw(port: number): Promise<Raw> {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close').then(() => text)
  await once(socket, 'connect')
  return { socket, closed }
}

/** Writes a piece every few milliseconds until the connection is closed. */
async function drip({ socket, closed }: Raw, piece: () => string): Promise<string> {
  const timer = setInterval(() => socket.writable && socket.write(piece()), 50)
  return closed.finally(() => clearInterval(timer))
}

/** Whether a usual client is served. The test's own timeout ends a request that is not. */
async function isServed(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health/live`)
  return response.ok
}

const LAST_REQUEST = 'HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
const POST = 'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'

describeGates(
  'connection limits',
  (open) => {
    const start = async (limits: Partial<ConnectionLimits>) => {
      const { gate } = await open()
      return { gate, ...(await serve(gate, limits)) }
    }

    it('clients that send their headers slowly are disconnected, and others are served meanwhile', async () => {
      const { port, url } = await start({ headerMs: 500 })
      const slow = await Promise.all(Array.from({ length: 50 }, () => raw(port)))
      const ends = slow.map((client) => {
        client.socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n')
        return drip(client, () => 'X-A: b\r\n')
      })
      expect(await isServed(url)).toBe(true)
      for (const text of await Promise.all(ends)) expect(text).toMatch(/^HTTP\/1\.1 408 /)
    })

    it('a client that sends its body slowly is disconnected when the request takes too long', async () => {
      const { port, url } = await start({ headerMs: 500, requestMs: 1000 })
      const slow = await raw(port)
      slow.socket.write(`${POST}Content-Length: 100000\r\n\r\n{`)
      const end = drip(slow, () => ' ')
      expect(await isServed(url)).toBe(true)
      expect(await end).toMatch(/^HTTP\/1\.1 408 /)
    })

    it('headers without an end and very long request lines are refused', async () => {
      const { port, url } = await start({})
      for (const piece of ['X-A: b\r\n', `X-${'a'.repeat(1000)}: b\r\n`, 'y'.repeat(1000)]) {
        const endless = await raw(port)
        endless.socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n')
        expect(await drip(endless, () => piece.repeat(64))).toMatch(/^HTTP\/1\.1 431 /)
      }
      const long = await raw(port)
      long.socket.write(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      expect(await long.closed).toMatch(/^HTTP\/1\.1 431 /)
      expect(await isServed(url)).toBe(true)
    })

    it('10,000 headers are refused, also if they are short', async () => {
      const { port } = await start({})
      const many = await raw(port)
      many.socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n${'a:b\r\n'.repeat(10_000)}\r\n`)
      expect(await many.closed).toMatch(/^HTTP\/1\.1 431 /)
    })

    it('a client that never reads its response is disconnected', async () => {
      const { gate, port, url } = await start({ stallMs: 600 })
      const payload = { text: 'x'.repeat(MIB - 1000) }
      const { task_id } = await gate.createTask(admin(), { type: 'large', payload })
      const deaf = connect({ port, host: '127.0.0.1' })
      onTestFinished(() => void deaf.destroy())
      deaf.on('error', () => {})
      deaf.pause()
      await once(deaf, 'connect')
      for (let n = 0; n < 64; n++) deaf.write(`GET /v1/tasks/${task_id} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      expect(await isServed(url)).toBe(true)
      await vi.waitFor(
        async () => {
          expect(await isReset(deaf)).toBe(true)
        },
        { timeout: 20_000, interval: 200 },
      )
    })

    /** Whether writing to the connection fails, because the other side has closed it. */
    async function isReset(socket: Socket): Promise<boolean> {
      socket.write('\r\n')
      await delay(50)
      return socket.destroyed
    }

    it('pipelined requests are answered in order', async () => {
      const { port } = await start({})
      const client = await raw(port)
      const paths = ['/health/live', '/unknown', '/openapi.json', '/health/live']
      client.socket.write(
        paths
          .map((path, n) => {
            const end = n === paths.length - 1 ? 'Connection: close\r\n' : ''
            return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r${n}\r\n${end}\r\n`
          })
          .join(''),
      )
      const text = await client.closed
      expect(Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/gm), ([, status]) => status)).toEqual([
        '200',
        '404',
        '200',
        '200',
      ])
      expect(Array.from(text.matchAll(/X-Request-Id: (\w+)/gi), ([, id]) => id)).toEqual([
        'r0',
        'r1',
        'r2',
        'r3',
      ])
    })

    it('one address has a limited number of connections, and gets new ones when it closes others', async () => {
      const { port } = await start({ connectionsPerAddress: 3 })
      const held = [await raw(port), await raw(port), await raw(port)]
      const refused = await raw(port)
      expect(await refused.closed).toBe('')
      held[0]?.socket.destroy()
      await delay(100)
      const next = await raw(port)
      next.socket.write(`GET /metrics ${LAST_REQUEST}`)
      const response = await next.closed
      expect(response).toMatch(/^HTTP\/1\.1 200 /)
      expect(response).toContain('asyncgate_connections_refused_total{limit="address"} 1')
    })

    it('a server has a limited number of connections', async () => {
      const { port } = await start({ connections: 2 })
      const first = await raw(port)
      await raw(port)
      const refused = await raw(port)
      expect(await refused.closed).toBe('')
      first.socket.write(`GET /metrics ${LAST_REQUEST}`)
      expect(await first.closed).toContain('asyncgate_connections_refused_total{limit="server"} 1')
    })

    it('an idle connection is closed', async () => {
      const { port } = await start({ keepAliveMs: 300 })
      const idle = await raw(port)
      idle.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
      expect(await idle.closed).toMatch(/^HTTP\/1\.1 200 /)
    })
  },
  ['sqlite'],
)

it('the settings have the same defaults as a server without settings', () => {
  expect(limitsOf(loadConfig({ env: {}, file: '/dev/null' }).server)).toEqual(DEFAULT_LIMITS)
})
