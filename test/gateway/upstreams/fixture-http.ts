import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import { serveWeb } from '../../../src/mcp/transport/wire.ts'
import type { FixtureReads } from './fixture-reads.ts'
import { Fixture, type FixtureOptions } from './fixture-tools.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface HttpFixture {
  readonly url: string
  readonly fixture: Fixture
  /** All requests that were received. */
  readonly requests: IncomingMessage[]
  /** Responds instead of the server if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Responds to a request that another fixture received. */
  answer: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Drops all sessions, as a restart does. */
  forget(): void
  close(): void
}

/** An HTTP server for this test that speaks one era. */
export async function httpFixture(
  era: 'modern' | 'legacy',
  options: FixtureOptions = {},
): Promise<HttpFixture> {
  const fixture = new Fixture(options)
  const requests: IncomingMessage[] = []
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>()
  const answer = era === 'modern' ? modern(fixture, options.reads) : legacy(fixture, sessions)
  const web = createServer((request, response) => {
    requests.push(request)
    if (!served.intercept(request, response)) answer(request, response)
  })
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  const { port } = web.address() as AddressInfo
  const served: HttpFixture = {
    url: `http://127.0.0.1:${port}/mcp`,
    fixture,
    requests,
    intercept: () => false,
    answer(request, response) {
      answer(request, response)
      return true
    },
    forget: () => sessions.clear(),
    close() {
      web.closeAllConnections()
      web.close()
    },
  }
  onTestFinished(() => served.close())
  return served
}

function modern(fixture: Fixture, reads: FixtureReads | undefined): Handler {
  const handler = createMcpHandler(() => fixture.server(), { legacy: 'reject' })
  fixture.onChange.add(() => handler.notify.toolsChanged())
  reads?.onChange.add((kind) => {
    if (kind === 'prompts') handler.notify.promptsChanged()
    else handler.notify.resourcesChanged()
  })
  return async (request, response) =>
    serveWeb(request, response, await bodyOf(request), (asked) => handler.fetch(asked))
}

/** Keeps sessions, as most legacy servers do. */
function legacy(fixture: Fixture, sessions: Map<string, NodeStreamableHTTPServerTransport>): Handler {
  return async (request, response) => {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known !== undefined) return known.handleRequest(request, response)
    const body: unknown = await bodyOf(request)
    const isGreeting =
      typeof body === 'object' && body !== null && 'method' in body && body.method === 'initialize'
    if (!isGreeting) {
      const error = { code: -32_001, message: 'Session not found' }
      return response.writeHead(404).end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (created) => {
        sessions.set(created, transport)
      },
    })
    await fixture.server().connect(transport)
    return transport.handleRequest(request, response, body)
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? undefined : JSON.parse(text)
}
