import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerValues } from '../config/server.ts'

/** Bounds on what one client, or all of them, can hold open. */
export interface ConnectionLimits {
  readonly maxHeaderBytes: number
  readonly headerMs: number
  readonly requestMs: number
  readonly stallMs: number
  readonly keepAliveMs: number
  readonly connections: number
  readonly connectionsPerAddress: number
}

/** The defaults of the settings. A client pool has mostly a shorter idle timeout, so that the client closes first. */
export const DEFAULT_LIMITS: ConnectionLimits = {
  maxHeaderBytes: 16 * 1024,
  headerMs: 30_000,
  requestMs: 3_600_000,
  stallMs: 120_000,
  keepAliveMs: 75_000,
  connections: 20_000,
  connectionsPerAddress: 5_000,
}

export function limitsOf(values: ServerValues): ConnectionLimits {
  return {
    maxHeaderBytes: values.max_header_bytes,
    headerMs: values.header_timeout_seconds * 1000,
    requestMs: values.request_timeout_seconds * 1000,
    stallMs: values.stall_timeout_seconds * 1000,
    keepAliveMs: values.keep_alive_seconds * 1000,
    connections: values.max_connections,
    connectionsPerAddress: values.max_connections_per_address,
  }
}

/** How often connections are checked for late headers and requests. */
const CHECK_MS = 1000

/** The limits that a server takes when it is created. */
export function serverOptions({ maxHeaderBytes, headerMs }: ConnectionLimits) {
  return {
    maxHeaderSize: maxHeaderBytes,
    connectionsCheckingInterval: Math.min(CHECK_MS, headerMs),
    handshakeTimeout: headerMs,
  }
}

/** Applies the limits to a server. `onRefused` is called for each connection that is closed because there are too many. */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  onRefused: (limit: 'server' | 'address') => void,
): void {
  server.headersTimeout = limits.headerMs
  server.requestTimeout = limits.requestMs
  server.keepAliveTimeout = limits.keepAliveMs
  server.timeout = limits.stallMs
  server.maxConnections = limits.connections
  server.on('drop', () => onRefused('server'))
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const count = (open.get(address) ?? 0) + 1
    if (count > limits.connectionsPerAddress) {
      socket.destroy()
      onRefused('address')
      return
    }
    open.set(address, count)
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1
      if (left === 0) open.delete(address)
      else open.set(address, left)
    })
  })
}

const REPORT_EVERY_MS = 10_000

/** Logs refused connections in groups: there are many of them in an attack. */
export function reportRefused(
  warn: (entry: { readonly limit: string; readonly refused: number }, text: string) => void,
): (limit: 'server' | 'address') => void {
  const counts = { server: 0, address: 0 }
  let isScheduled = false
  const report = () => {
    isScheduled = false
    for (const limit of ['server', 'address'] as const) {
      const refused = counts[limit]
      counts[limit] = 0
      if (refused > 0) warn({ limit, refused }, 'too many connections; new ones were closed')
    }
  }
  return (limit) => {
    counts[limit] += 1
    if (isScheduled) return
    isScheduled = true
    setTimeout(report, REPORT_EVERY_MS).unref()
  }
}
