import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { type Duplex, PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { RelayedClient } from '../../../mcp/transport/stdio.ts'
import { type Answer, difference, firstLine, helloShape, parseLine, type Serves } from './join.ts'

/** Serves clients, once the gateway has started. */
export interface ClientService {
  readonly url: string
  /** Serves a client until it is closed. */
  serve(client: RelayedClient): { close(): Promise<void> }
}

export interface ClientsDeps {
  readonly serves: Serves
  /** Identifies the database to clients that were connected to another gateway before. */
  readonly database: string
  report(error: unknown): void
}

/** How long waiting clients have to read that the gateway failed to start. */
const NOTIFY_MS = 1_000

type Started = ClientService | { readonly failure: string }

/** The clients of a gateway that connect from other processes of this user, through a socket. */
export class GatewayClients {
  readonly #deps: ClientsDeps
  readonly #started: Promise<Started>
  #resolveStarted: (started: Started) => void = () => {}
  /** Disconnect functions, by which the MCP server of a client does not see a disconnect. */
  readonly #cuts = new Set<() => void>()
  readonly #waiting = new Set<Socket>()
  #server: Server | undefined
  #path: string | undefined

  constructor(deps: ClientsDeps) {
    this.#deps = deps
    this.#started = new Promise((resolve) => {
      this.#resolveStarted = resolve
    })
  }

  /**
   * Accepts clients at this path. The caller holds the lock of the database that the path belongs to, so an existing
   * socket was left behind by a gateway that has ended.
   */
  async listen(path: string): Promise<void> {
    const server = createServer((socket) => void this.#greet(socket).catch(this.#deps.report))
    rmSync(path, { force: true })
    const mask = process.umask(0o177)
    try {
      server.listen(path)
    } finally {
      process.umask(mask)
    }
    await once(server, 'listening')
    chmodSync(path, 0o600)
    this.#server = server
    this.#path = path
    process.once('exit', this.#remove)
  }

  /** The gateway has started: waiting clients are served. */
  ready(service: ClientService): void {
    this.#resolveStarted(service)
  }

  /** The gateway failed to start. Resolves when the waiting clients were notified. */
  async failed(failure: string): Promise<void> {
    this.#resolveStarted({ failure })
    this.#server?.close()
    const notified = [...this.#waiting].map((socket) => socket.destroyed || once(socket, 'close'))
    await Promise.race([Promise.all(notified), pause(NOTIFY_MS, undefined, { ref: false })])
    for (const socket of this.#waiting) socket.destroy()
    this.#remove()
  }

  /** Serves a client over a duplex stream. Resolves when the client has disconnected, or was handed over. */
  async serve(link: Duplex, instance: string, { serve }: ClientService): Promise<void> {
    const input = new PassThrough()
    const output = new PassThrough()
    link.on('error', () => link.destroy())
    link.pipe(input)
    output.pipe(link)
    const served = serve({ input, output, instance })
    let isCut = false
    const cut = () => {
      isCut = true
      link.unpipe(input)
      output.unpipe(link)
      link.destroy()
    }
    this.#cuts.add(cut)
    if (!link.destroyed) await once(link, 'close')
    this.#cuts.delete(cut)
    if (isCut) return
    // The server sees the end of the input before it is closed, so it knows that the client has disconnected.
    input.end()
    if (!input.readableEnded) await once(input, 'end')
    await served.close()
  }

  /**
   * Hands all clients over to another gateway. Their MCP servers see silent clients, not disconnected ones, so running
   * calls are finished or requeued as at any stop, and not canceled.
   */
  stop(): void {
    this.#server?.close()
    this.#remove()
    for (const socket of this.#waiting) socket.destroy()
    for (const cut of [...this.#cuts]) cut()
  }

  readonly #remove = () => {
    process.off('exit', this.#remove)
    if (this.#path !== undefined) rmSync(this.#path, { force: true })
    this.#path = undefined
  }

  async #greet(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy())
    const send = (answer: Answer) => socket.write(`${JSON.stringify(answer)}\n`)
    const { serves, database } = this.#deps
    const { pid } = process
    this.#waiting.add(socket)
    socket.once('close', () => this.#waiting.delete(socket))
    const hello = parseLine(await firstLine(socket), helloShape)
    if (hello === undefined) {
      const message = 'the gateway that runs is another version of AsyncGate'
      send({ status: 'different', pid, url: '', message })
      socket.end()
      return
    }
    send({ status: 'starting', pid })
    const started = await this.#started
    if (socket.destroyed) return
    const url = 'failure' in started ? '' : started.url
    const differs = difference(serves, hello.serves)
    if (differs !== undefined) send({ status: 'different', pid, url, message: differs })
    else if ('failure' in started) send({ status: 'failed', pid, url, message: started.failure })
    else {
      send({ status: 'joined', pid, url, database })
      this.#waiting.delete(socket)
      await this.serve(socket, hello.client, started)
      return
    }
    socket.end()
  }
}
