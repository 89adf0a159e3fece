import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between a client and a server, and can break what the network can break. */
export interface TcpProxy {
  /** The given URL with the address of the proxy. */
  readonly url: string
  /**
   * Once: when a client sends this text, its connection is lost. The server gets the text, or not; either way the
   * client gets no answer to it.
   */
  cutAt(text: string, reaching: 'server' | 'nobody'): void
  /** From now on nothing passes, and nobody is told: neither on connections that are open nor on new ones. */
  freeze(): void
  /** New connections pass again; those that were open while it was frozen are dead, without a word. */
  thaw(): void
  close(): Promise<void>
}

export async function startTcpProxy(serverUrl: string): Promise<TcpProxy> {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let cut: { readonly text: string; readonly reaching: 'server' | 'nobody' } | undefined
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
      // The server must find its side open when it gets to the text, or it might give up before.
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
