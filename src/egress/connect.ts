import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { Networks } from './address.ts'
import { type Clock, startClock } from './clock.ts'
import { EgressError } from './error.ts'
import type { Policy, Target } from './policy.ts'
import type { Resolve } from './resolve.ts'

type Dial = (options: net.NetConnectOpts) => net.Socket

/** Connects to an address of the target that was found once and checked; by TLS if the URL is https. */
export async function connect(
  target: Target,
  policy: Policy,
  resolve: Resolve,
  total: Clock,
  dial: Dial = net.connect,
): Promise<net.Socket> {
  const clock = startClock(policy.settings.connect_timeout_ms, 'connecting', total.signal)
  try {
    const found = target.isAddress ? [target.host] : await clock.race(resolve(target.host))
    const checked = policy.checkAddresses(target, found)
    if (!checked.allowed) throw new EgressError('REFUSED', checked.reason)
    const socket = await openSocket(target, checked.value, clock, dial)
    return target.url.protocol === 'https:' ? await secure(socket, target, policy.settings.ca, clock) : socket
  } finally {
    clock.end()
  }
}

/** A socket to one of these addresses, whatever the name of the host means by now. */
async function openSocket(
  { host, port }: Target,
  addresses: readonly string[],
  clock: Clock,
  dial: Dial,
): Promise<net.Socket> {
  clock.signal.throwIfAborted()
  const pinned = addresses.map((address) => ({ address, family: net.isIP(address) }))
  const [first = { address: '', family: 0 }] = pinned
  const socket = dial({
    host,
    port,
    autoSelectFamily: true,
    lookup: (_name, options, answer) => {
      if (options.all) answer(null, pinned)
      else answer(null, first.address, first.family)
    },
  })
  await opened(socket, 'connect', clock)
  if (!new Networks(addresses).has(socket.remoteAddress ?? '')) {
    socket.destroy()
    throw new EgressError(
      'REFUSED',
      `${host} was connected at ${socket.remoteAddress}, which was not checked`,
    )
  }
  return socket
}

async function secure(
  socket: net.Socket,
  { host, isAddress }: Target,
  ca: string | undefined,
  clock: Clock,
): Promise<net.Socket> {
  const secured = tls.connect({
    socket,
    host,
    ...(!isAddress && { servername: host }),
    ...(ca !== undefined && { ca }),
    ALPNProtocols: ['http/1.1'],
    // Not left to NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
  })
  await opened(secured, 'secureConnect', clock)
  return secured
}

async function opened(socket: net.Socket, event: string, { signal }: Clock): Promise<void> {
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
  return error instanceof Error ? error.message : String(error)
}
