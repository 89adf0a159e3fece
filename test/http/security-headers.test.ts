import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { beforeAll, expect, it, vi } from 'vitest'
import { Authenticator } from '../../src/auth/credential.ts'
import { Console } from '../../src/console/console.ts'
import { CONSOLE_ROUTES } from '../../src/console/routes.ts'
import { loadAssets } from '../../src/console/send.ts'
import type { Gate } from '../../src/features/gate.ts'
import { BulkRequests } from '../../src/http/bulk-requests.ts'
import { Clients } from '../../src/http/clients.ts'
import { Held } from '../../src/http/connections.ts'
import { EventStreams } from '../../src/http/event-stream.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { allRoutes } from '../../src/http/routes.ts'
import { createMcpEndpoint } from '../../src/mcp/transport/endpoint.ts'
import { startServer } from '../../src/server/http-server.ts'
import { describeGates } from '../support/gates.ts'

vi.setConfig({ testTimeout: 60_000 })

interface Target {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Head {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

let assets: readonly string[]
beforeAll(() => {
  assets = Object.values(loadAssets()).map(({ path }) => path)
})

/** A server with everything mounted, and its routes. */
async function serveAll(gate: Gate) {
  const guard = { allowed_hosts: ['gate.example'], allowed_origins: ['https://app.example'], https: true }
  const authenticator = new Authenticator({ api_key: null, allow_insecure_dev: true })
  const shared = { clients: new Clients(), gate, authenticator, guard, maxBodyBytes: 1024 }
  const mcp = createMcpEndpoint(shared)
  const pages = new Console({
    ...shared,
    secret: Buffer.alloc(32),
    onError: (error) => expect.unreachable(String(error)),
  })
  const mounted = { mcp: mcp.handle, console: pages.handle.bind(pages) }
  const server = await startServer({ ...shared, ...mounted, drainMs: 0, graceMs: 50 })
  const metrics = new Metrics(gate, { connections: () => ({ polls: 0, streams: 0 }), siblings: undefined })
  const bulk = new BulkRequests(1024)
  const context = { ...shared, metrics, bulk, held: new Held(), streams: new EventStreams() }
  const routes = allRoutes({ ...context, isStopping: () => false }, mounted)
  metrics.close()
  const closeGate = gate.close
  gate.close = async () => {
    pages.close()
    await mcp.close()
    await server.close()
    await closeGate()
  }
  return { port: server.port, routes }
}

/** The head of a response; the rest is not read, because some responses do not end. */
async function headOf(port: number, { method, path, headers = {} }: Target): Promise<Head> {
  const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: false })
  sent.on('error', () => {})
  sent.end()
  const [message]: IncomingMessage[] = await once(sent, 'response')
  if (message === undefined) throw new Error('no response')
  message.destroy()
  return { status: message.statusCode ?? 0, headers: message.headers }
}

const filled = (path: string) => path.replaceAll(/\{\w+\}/g, 'x')

describeGates(
  'security headers',
  (open) => {
    it('every route responds with them, whether it succeeds or refuses', async () => {
      const { gate } = await open()
      const { port, routes } = await serveAll(gate)
      const paths = [
        ...routes.map(({ method, path }) => ({ method: method === 'ANY' ? 'GET' : method, path })),
        ...CONSOLE_ROUTES.map(({ method, path }) => ({ method, path: `/console${path}` })),
        ...['/console/login', '/console/icon.svg', '/console/events', '/console/unknown/x/y'].map((path) => ({
          method: 'GET',
          path,
        })),
        ...assets.map((path) => ({ method: 'GET', path })),
        { method: 'GET', path: '/unknown' },
        { method: 'POST', path: '/mcp' },
      ]
      expect(paths.length).toBeGreaterThan(100)
      const targets: Target[] = paths.flatMap(({ method, path }) => [
        { method, path: filled(path) },
        { method, path: filled(path), headers: { host: 'evil.example' } },
        { method: 'DELETE', path: filled(path) },
        { method: 'OPTIONS', path: filled(path), headers: { origin: 'https://app.example' } },
      ])
      const statuses = new Set<number>()
      for (const target of targets) {
        const { status, headers } = await headOf(port, target)
        statuses.add(status)
        const what = `${target.method} ${target.path} ${status}`
        expect(headers['x-content-type-options'], what).toBe('nosniff')
        expect(headers['x-frame-options'], what).toBe('DENY')
        expect(headers['cross-origin-resource-policy'], what).toBe('same-origin')
        expect(headers['cross-origin-opener-policy'], what).toBe('same-origin')
        expect(headers['referrer-policy'], what).toMatch(/^(no-referrer|same-origin)$/)
        expect(headers['content-security-policy'], what).toMatch(
          /^default-src 'none'.*frame-ancestors 'none'/,
        )
        expect(headers['content-security-policy'], what).not.toContain('unsafe')
        const isAsset = assets.includes(target.path) && status === 200
        expect(headers['cache-control'], what).toMatch(isAsset ? /^public/ : /^no-store/)
      }
      expect([...statuses]).toEqual(expect.arrayContaining([200, 204, 303, 400, 403, 404, 405]))
    })

    it('a client that uses https is told to stay with it, and one on this machine is not', async () => {
      const { gate } = await open()
      const { port } = await serveAll(gate)
      const hsts = async (headers: Record<string, string>) =>
        (await headOf(port, { method: 'GET', path: '/health', headers })).headers['strict-transport-security']
      expect(await hsts({ host: 'gate.example' })).toBe('max-age=31536000; includeSubDomains')
      expect(await hsts({ 'x-forwarded-proto': 'https' })).toBe('max-age=31536000; includeSubDomains')
      expect(await hsts({})).toBeUndefined()
    })
  },
  ['sqlite'],
)
