import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import type { buildConnector } from 'undici'
import { messageOf } from '../util/error-message.ts'
import { Networks } from '../util/networks.ts'
import { startClock } from './clock.ts'
import { EgressError } from './error.ts'

/** Where to connect, and under which conditions. Connections may be shared only if all of these are equal. */
export interface Route {
  /** The checked addresses of the host. */
  readonly addresses: readonly string[]
  /** Trusted certificates in PEM instead of the default authorities. */
  readonly ca: string | undefined
  readonly timeoutMs: number
}

type Dial = (options: net.NetConnectOpts) => net.Socket

/** Connects to the addresses of the route whatever the host name resolves to; the certificate must be for the host name. */
export function connector(route: Route, dial: Dial = net.connect): buildConnector.connector {
  return ({ hostname, port, protocol }, callback) => {
    const host = hostname.replace(/\.$/, '')
    const isSecure = protocol === 'https:'
    open(route, host, Number(port || (isSecure ? 443 : 80)), isSecure, dial).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    )
  }
}

async function open(
  { addresses, ca, timeoutMs }: Route,
  host: string,
  port: number,
  isSecure: boolean,
  dial: Dial,
): Promise<net.Socket> {
  const { signal, end } = startClock(timeoutMs, 'connecting')
  try {
    const socket = dial({ host, port, autoSelectFamily: true, lookup: lookupIn(addresses) })
    await opened(socket, 'connect', signal)
    const { remoteAddress = '' } = socket
    if (!new Networks(addresses).has(remoteAddress)) {
      socket.destroy()
      throw new EgressError('REFUSED', `${host} was connected at ${remoteAddress}, which was not checked`)
    }
    if (!isSecure) return socket
    const secured = tls.connect({
      socket,
      host,
      ...(net.isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
      ALPNProtocols: ['http/1.1'],
      // Not left to NODE_TLS_REJECT_UNAUTHORIZED.
      rejectUnauthorized: true,
    })
    await opened(secured, 'secureConnect', signal)
    return secured
  } catch (error) {
    if (error instanceof EgressError) error.isUnsent = true
    throw error
  } finally {
    end()
  }
}

function lookupIn(addresses: readonly string[]): net.LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: net.isIP(address) }))
  const [first = { address: '', family: 0 }] = pinned
  return (_name, options, answer) => {
    if (options.all) answer(null, pinned)
    else answer(null, first.address, first.family)
  }
}

async function opened(socket: net.Socket, event: string, signal: AbortSignal): Promise<void> {
  try {
    await once(socket, event, { signal })
  } catch (error) {
    socket.on('error', () => {}).destroy()
    signal.throwIfAborted()
    throw new EgressError('UNREACHABLE', `the connection failed: ${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return messageOf(error)
}
