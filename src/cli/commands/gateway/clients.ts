import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { type Duplex, PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { RelayedClient } from '../../../mcp/transport/stdio.ts'
import { type Answer, difference, firstLine, helloShape, type Serves } from './join.ts'

/** What the clients are served by, once the gateway has started. */
export interface ClientService {
  readonly url: string
  /** Serves a client until it is closed. */
  serve(client: RelayedClient): { close(): Promise<void> }
}

export interface ClientsParts {
  readonly serves: Serves
  /** Names the database to those who were clients of another gateway before. */
  readonly database: string
  report(error: unknown): void
}

/** How long those who wait may take to read that the gateway does not start. */
const TELL_MS = 1_000

type Started = ClientService | { readonly failure: string }

/** The clients of a gateway that come from other processes of this machine, through a socket of this user. */
export class GatewayClients {
  readonly #parts: ClientsParts
  readonly #started: Promise<Started>
  #resolveStarted: (started: Started) => void = () => {}
  /** How to cut the link to each client so that its server does not notice. */
  readonly #cuts = new Set<() => void>()
  readonly #waiting = new Set<Socket>()
  #server: Server | undefined
  #path: string | undefined

  constructor(parts: ClientsParts) {
    this.#parts = parts
    this.#started = new Promise((resolve) => {
      this.#resolveStarted = resolve
    })
  }

  /**
   * Takes clients at this path, from now on. Whoever calls holds the lock of the database that the path belongs to, so
   * a socket that is there already has been left by a gateway that is gone.
   */
  async listen(path: string): Promise<void> {
    const server = createServer((socket) => void this.#greet(socket).catch(this.#parts.report))
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

  /** The gateway has started: those who wait are served. */
  ready(service: ClientService): void {
    this.#resolveStarted(service)
  }

  /** The gateway does not start. Those who wait are told, and have been when this resolves. */
  async failed(failure: string): Promise<void> {
    this.#resolveStarted({ failure })
    this.#server?.close()
    const told = [...this.#waiting].map((socket) => socket.destroyed || once(socket, 'close'))
    await Promise.race([Promise.all(told), pause(TELL_MS, undefined, { ref: false })])
    for (const socket of this.#waiting) socket.destroy()
    this.#remove()
  }

  /** Serves a client over a pair of streams. Resolves when the client has left, or was let go. */
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
    // Its server sees the end of the input before it is closed: the client has left, and is not sent away.
    input.end()
    if (!input.readableEnded) await once(input, 'end')
    await served.close()
  }

  /**
   * Lets all clients go to another gateway. To the server of each it looks as if the client were silent, not gone: the
   * calls that are under way are finished or given back as at any stop, and not canceled.
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
    const tell = (answer: Answer) => socket.write(`${JSON.stringify(answer)}\n`)
    const { serves, database } = this.#parts
    const { pid } = process
    this.#waiting.add(socket)
    socket.once('close', () => this.#waiting.delete(socket))
    const hello = readHello(await firstLine(socket))
    if (hello === undefined) {
      const message = 'the gateway that runs is another version of AsyncGate'
      tell({ status: 'different', pid, url: '', message })
      socket.end()
      return
    }
    tell({ status: 'starting', pid })
    const started = await this.#started
    if (socket.destroyed) return
    const url = 'failure' in started ? '' : started.url
    const differs = difference(serves, hello.serves)
    if (differs !== undefined) tell({ status: 'different', pid, url, message: differs })
    else if ('failure' in started) tell({ status: 'failed', pid, url, message: started.failure })
    else {
      tell({ status: 'joined', pid, url, database })
      this.#waiting.delete(socket)
      await this.serve(socket, hello.client, started)
      return
    }
    socket.end()
  }
}

function readHello(line: string | undefined) {
  try {
    return line === undefined ? undefined : helloShape.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
