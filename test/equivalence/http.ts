import { Agent, type IncomingMessage, request } from 'node:http'
import { Authenticator } from '../../src/auth/credential.ts'
import { IssuedKeys } from '../../src/auth/issued-keys.ts'
import type { Operation } from '../../src/features/define-operation.ts'
import type { Gate } from '../../src/features/gate.ts'
import { createMcpEndpoint } from '../../src/mcp/transport/endpoint.ts'
import { startServer } from '../../src/server/http-server.ts'
import { type AuthMode, authSettings, type Fields } from '../support/auth-modes.ts'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Received {
  readonly status: number
  readonly body: unknown
}

/** A server for both protocols in its production setup, and a client of it. */
export interface HttpServer {
  send(sent: Sent): Promise<Received>
  close(): Promise<void>
}

export async function serveHttp(
  gate: Gate,
  mode: AuthMode,
  onError: (error: unknown) => void,
  maxBodyBytes = 1024 * 1024,
): Promise<HttpServer> {
  const issued = new IssuedKeys(gate.keys, onError)
  const shared = {
    gate,
    authenticator: new Authenticator(authSettings(mode), issued),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes,
  }
  const mcp = createMcpEndpoint({ ...shared, onError })
  const server = await startServer({ ...shared, mcp: mcp.handle })
  const agent = new Agent({ keepAlive: true })
  return {
    send: (sent) => send(agent, server.port, sent),
    async close() {
      agent.destroy()
      issued.stop()
      await mcp.close()
      await server.close()
    },
  }
}

/** Paths are sent unchanged: a URL would normalize those that fuzzing made invalid. */
async function send(agent: Agent, port: number, sent: Sent): Promise<Received> {
  const { method, path, body = '', headers = {} } = sent
  const all = {
    ...(body !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...headers,
  }
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, agent, method, path, headers: all }, resolve)
      .on('error', reject)
      .end(body)
  })
  let text = ''
  message.setEncoding('utf8')
  for await (const chunk of message) text += chunk
  return { status: message.statusCode ?? 0, body: text === '' ? undefined : JSON.parse(text) }
}

/** The REST request of an operation. */
export function restRequest({ rest }: Operation, input: Fields): Sent {
  const fields = new Map(Object.entries(input))
  const path = rest.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = fields.get(name)
    fields.delete(name)
    return encode(asText(value))
  })
  if (rest.method === 'POST')
    return { method: 'POST', path, body: JSON.stringify(Object.fromEntries(fields)) }
  const query = [...fields].flatMap(([name, value]) => pairs(name, value))
  const search = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  return { method: 'GET', path: search === '' ? path : `${path}?${search}` }
}

function pairs(name: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) return value.map((item) => [name, asText(item)])
  if (name === 'labels' && typeof value === 'object' && value !== null) {
    return Object.entries(value).map(([key, label]) => [`label.${key}`, asText(label)])
  }
  return [[name, asText(value)]]
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}

/** A lone surrogate is sent as the bytes that another language might produce for it. */
function encode(text: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text)
  return [...text].map((char) => (char.isWellFormed() ? encodeURIComponent(char) : '%ED%A0%80')).join('')
}
