import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { Fault } from '../core/errors.ts'
import { createServer, type Face } from './server.ts'
import type { Call } from './tool.ts'
import { serveWeb } from './web-bridge.ts'

/** Serves what belongs to the revisions before 2026-07-28. `body` is undefined unless it is a POST. */
export type LegacyLeg = (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
) => Promise<void>

/**
 * Without sessions: each request stands for itself, with or without a handshake before it. Answers are always JSON,
 * which every client of those revisions must take, and which callers that only know JSON-RPC need.
 */
export function statelessLeg({ capabilities, ...rest }: Face): LegacyLeg {
  // Nobody can be told of a change who cannot be reached.
  const { tools: _, ...others } = capabilities
  const face: Face = { ...rest, capabilities: { ...others, tools: {} } }
  return async (request, response, body, callOf) => {
    if (request.method !== 'POST') throw new Fault('METHOD_NOT_ALLOWED')
    const server = createServer(face, ({ mcpReq }) => callOf(mcpReq.signal))
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    // The transport never answers a request whose client has gone.
    const gone = once(response, 'close').then(() => new Response(null, { status: 499 }))
    try {
      await serveWeb(request, response, body, (web) => {
        web.headers.set('accept', 'application/json, text/event-stream')
        return Promise.race([transport.handleRequest(web, { parsedBody: body }), gone])
      })
    } finally {
      await server.close()
    }
  }
}
