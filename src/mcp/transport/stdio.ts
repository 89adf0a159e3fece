import type { Readable, Writable } from 'node:stream'
import { InMemoryServerEventBus, type McpRequestContext, type Server } from '@modelcontextprotocol/server'
import {
  type ServeStdioOptions,
  type StdioServerHandle,
  StdioServerTransport,
  serveStdio,
} from '@modelcontextprotocol/server/stdio'
import type { Credential } from '../../auth/credential.ts'
import type { Gate } from '../../features/gate.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import { noteRefusal } from '../../http/origin.ts'
import { createServer, defineServer, type ServerOptions } from '../server.ts'
import { withAgent } from '../tools/identity.ts'
import { metaFromSdk } from './capabilities.ts'
import { named, newClient } from './client-instance.ts'
import { SERVER_STOPS } from './open-call.ts'
import { PeerState, peerCapabilities } from './peer.ts'
import { CheckedLines } from './stdio-lines.ts'
import { ListeningTransport } from './stdio-listen.ts'

/** `onError` must not write to stdout, which carries the protocol. */
export interface StdioOptions extends ServerOptions {
  /** The process that starts the server also has access to the database. */
  readonly credential?: Credential
  /** The agent that the client acts as, unless a request names another. */
  readonly agent?: string
  /** Replaces stdin and stdout. */
  readonly streams?: { readonly input: Readable; readonly output: Writable }
  /** Replaces the streams, without the checks of their text. */
  readonly transport?: ServeStdioOptions['transport']
  /** The client is connected through a relay. */
  readonly relayed?: RelayedClient
}

export interface RelayedClient {
  /** Numbered lines: a repeated line has the same number. */
  readonly input: Readable
  readonly output: Writable
  /** The same for the same client on any server. */
  readonly instance: string
}

const LOCAL: Credential = { kind: 'shared', tenant: 'default' }

/** Serves MCP on stdin and stdout, in every revision, until the client closes its end. */
export function serveStdioMcp(gate: Gate, options: StdioOptions = {}): StdioServerHandle {
  const { credential = LOCAL, agent, onError = () => {}, streams, transport, relayed } = options
  const { definition, onLists, onResources } = defineServer(gate, options)
  // The process at the other end is one client, whatever its name is.
  const client = relayed ? { ...newClient(undefined), instance: relayed.instance } : newClient(undefined)
  let unsubscribe = () => {}
  const stopping = new AbortController()
  const bus = new InMemoryServerEventBus()
  const state = new PeerState()
  const watch = definition.watchLists?.(credential.tenant)
  const stopUpdates = onResources((uri) => {
    bus.publish({ kind: 'resource_updated', uri })
    const method = 'notifications/resources/updated'
    if (state.subscriptions.has(uri)) listening.sendToClient({ jsonrpc: '2.0', method, params: { uri } })
  })
  const connect = ({ era }: McpRequestContext) => {
    const server = createServer(definition, era, credential.tenant, (context, task) => ({
      credential,
      signal: AbortSignal.any([context.mcpReq.signal, stopping.signal]),
      streams: true,
      listing: options.listing,
      onRefused: (fault) => noteRefusal(gate.audit, fault, undefined, credential),
      client: { ...client, ...named(server.getClientVersion()) },
      flaw: lines?.flawOf(context.mcpReq.id),
      key: keyOf(client, lines?.numberOf(context.mcpReq.id)),
      ...(era === 'legacy' && { peer: peerOf(server) }),
      ...withAgent(metaFromSdk(context, task), agent),
    }))
    unsubscribe()
    unsubscribe = onLists((kind) => {
      bus.publish({ kind: `${kind}_list_changed` })
      // The client may have disconnected, or have no such list.
      if (server.getCapabilities()[kind] !== undefined)
        void server.notification({ method: `notifications/${kind}/list_changed` }).catch(() => {})
    })
    return server
  }
  const peerOf = (server: Server) =>
    state.peer(peerCapabilities(server.getClientCapabilities()), (message) => listening.sendToClient(message))
  const { input, output } = relayed ?? streams ?? { input: process.stdin, output: process.stdout }
  const writeLine = (message: object) => output.write(`${JSON.stringify(message)}\n`)
  const lines = transport === undefined ? new CheckedLines(writeLine, relayed !== undefined) : undefined
  const wire = transport ?? new StdioServerTransport(lines && input.pipe(lines), output)
  const listening = new ListeningTransport(wire, { definition, bus, credential, requests: state.requests })
  const served = serveStdio(connect, { onerror: onError, transport: listening })
  return {
    async close() {
      unsubscribe()
      stopUpdates()
      watch?.stop()
      state.close()
      // A client that closed its end has left; any other did not ask to cancel its calls.
      if (transport !== undefined || !input.readableEnded) stopping.abort(SERVER_STOPS)
      await served.close()
      await definition.tasks.calls.settled()
      await gate.clientLeft(credential.tenant, client.instance)
    },
  }
}

/** The key that identifies a call that the relay repeats. */
function keyOf({ instance }: Client, number: string | undefined): string | undefined {
  return number === undefined ? undefined : `mcp:${instance}:${number}`
}
