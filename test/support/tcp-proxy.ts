import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy between a client and a server that can simulate network faults. */
export interface TcpProxy {
  /** The given URL with the address of the proxy. */
  readonly url: string
  /**
   * Cuts the next connection on which a client sends this text. The server receives the text or nothing; the client
   * receives no response in either case.
   */
  cutAt(text: string, reaching: 'server' | 'nothing'): void
  /** From now on nothing passes on open or new connections, without any error. */
  freeze(): void
  /** New connections pass again; those opened before stay dead without any error. */
  thaw(): void
  close(): Promise<void>
}

export async function startTcpProxy(serverUrl: string): Promise<TcpProxy> {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let cut: { readonly text: string; readonly reaching: 'server' | 'nothing' } | undefined
  const freezers = new Set<() => void>()
  let frozen = false

  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    keep(client)
    keep(upstream)
    let isCut = false
    let isFrozen = frozen
    const freeze = () => {
      isFrozen = true
    }
    freezers.add(freeze)
    client.on('close', () => freezers.delete(freeze))
    const passes = () => !isFrozen && !isCut
    client.on('data', (bytes) => {
      if (!passes()) return
      if (cut === undefined || !bytes.includes(cut.text)) {
        upstream.write(bytes)
        return
      }
      isCut = true
      // The server side must stay open until the server has read the text, or the server might abort before.
      if (cut.reaching === 'server') upstream.write(bytes)
      else upstream.destroy()
      cut = undefined
      client.destroy()
    })
    upstream.on('data', (bytes) => passes() && client.write(bytes))
    client.on('close', () => passes() && upstream.destroy())
    upstream.on('close', () => passes() && client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cutAt(text, reaching) {
      cut = { text, reaching }
    },
    freeze() {
      frozen = true
      for (const freeze of freezers) freeze()
    },
    thaw() {
      frozen = false
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
