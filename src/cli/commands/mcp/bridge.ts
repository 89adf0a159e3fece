import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { allowOnlyOrigin } from '../../../egress/settings.ts'
import { type MessageId, requestId } from '../../../gateway/transports/answers.ts'
import { HttpTransport } from '../../../gateway/transports/http-transport.ts'
import { messageOf } from '../../../util/error-message.ts'
import { isObject } from '../../../util/guards.ts'

const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 10_000
/** JSON-RPC: an internal error. */
const FAILED = -32603

export interface BridgeOptions {
  /** The MCP endpoint. */
  readonly endpoint: string
  readonly key: string | null
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>
}

/**
 * Forwards the messages of a client on stdin and stdout to a server, until the client closes its end. A server that does
 * not respond fails the request and not the connection, so the client can go on when the server is back.
 */
export async function runBridge({ endpoint, key, stopped }: BridgeOptions): Promise<void> {
  const remote = new HttpTransport({
    url: endpoint,
    headers: key === null ? {} : { authorization: `Bearer ${key}` },
    egress: allowOnlyOrigin(endpoint, {}),
    limits: { call: MAX_ANSWER_BYTES, other: MAX_ANSWER_BYTES },
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    open: (url, options) => new StreamableHTTPClientTransport(url, options),
  })
  const local = new StdioServerTransport()
  const handshakes = new Set<MessageId>()
  const closed = new Promise<void>((resolve) => {
    local.onclose = resolve
    process.stdin.once('close', resolve)
  })

  const toClient = (message: JSONRPCMessage) => void local.send(message).catch(() => {})
  remote.onmessage = (message: JSONRPCMessage) => {
    // Later requests state the version that the server has chosen.
    if (isJSONRPCResultResponse(message) && handshakes.delete(message.id)) {
      const { protocolVersion } = message.result
      if (typeof protocolVersion === 'string') remote.setProtocolVersion(protocolVersion)
    }
    toClient(message)
  }
  local.onmessage = (message: JSONRPCMessage) => {
    const id = requestId(message)
    if (id !== undefined && 'method' in message && message.method === 'initialize') handshakes.add(id)
    remote.send(message).catch((error: unknown) => {
      if (id !== undefined) toClient(failure(id, error, endpoint))
    })
  }
  await remote.start()
  await local.start()
  await Promise.race([closed, stopped])
  await remote.close()
  await local.close()
}

/** The error response of the server, if it sent one, or else one that says what went wrong. */
function failure(id: MessageId, error: unknown, endpoint: string): JSONRPCMessage {
  const sent = error instanceof SdkHttpError ? responseIn(error.data) : undefined
  if (sent !== undefined) return { ...sent, id }
  const { origin } = new URL(endpoint)
  const message = `The request to the AsyncGate server at ${origin} failed: ${messageOf(error)}`
  return { jsonrpc: '2.0', id, error: { code: FAILED, message } }
}

function responseIn(data: unknown) {
  if (!isObject(data) || typeof data.text !== 'string') return undefined
  try {
    const body: unknown = JSON.parse(data.text)
    return isJSONRPCErrorResponse(body) ? body : undefined
  } catch {
    return undefined
  }
}
