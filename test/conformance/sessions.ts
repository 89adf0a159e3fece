import { randomUUID } from 'node:crypto'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { type EventStore, isInitializeRequest, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { createServer, type ServerDefinition } from '../../src/mcp/server.ts'
import { type LegacyHandler, statelessHandler } from '../../src/mcp/transport/legacy.ts'

/** Features that only the suite needs: servers that send requests to the client within a session. */
export function sessionHandler(
  definition: ServerDefinition,
  options: Parameters<typeof statelessHandler>[1],
): LegacyHandler {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>()
  const stateless = statelessHandler(definition, options)
  return async (request, response, body, callOf) => {
    const id = request.headers['mcp-session-id']
    if (isInitializeRequest(body)) {
      const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: new MemoryEvents(),
        retryInterval: 500,
        onsessioninitialized: (id) => {
          sessions.set(id, transport)
        },
        onsessionclosed: (id) => {
          sessions.delete(id)
        },
      })
      await createServer(definition, 'legacy', ({ mcpReq }) => callOf(mcpReq.signal)).connect(transport)
      return transport.handleRequest(request, response, body)
    }
    if (typeof id !== 'string') return stateless(request, response, body, callOf)
    const transport = sessions.get(id)
    if (transport !== undefined) return transport.handleRequest(request, response, body)
    response.writeHead(404).end()
  }
}

/** The events of a stream, for a client that reconnects. */
class MemoryEvents implements EventStore {
  readonly #events: { stream: string; message: JSONRPCMessage }[] = []

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    return String(this.#events.push({ stream, message }))
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events[Number(id) - 1]?.stream
  }

  async replayEventsAfter(
    id: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const stream = this.#events[Number(id) - 1]?.stream ?? ''
    for (const [index, event] of this.#events.entries()) {
      if (index >= Number(id) && event.stream === stream && 'jsonrpc' in event.message) {
        await send(String(index + 1), event.message)
      }
    }
    return stream
  }
}
