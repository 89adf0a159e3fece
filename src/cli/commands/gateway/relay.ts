import type { Duplex, Readable, Writable } from 'node:stream'
import { isObject } from '../../../util/guards.ts'

/** A request of the client that has no response yet. */
interface OpenRequest {
  readonly id: string | number
  readonly line: string
  /** The name of the tool, for a tool call. */
  readonly tool: string | undefined
}

export interface RelayDeps {
  readonly input: Readable
  readonly output: Writable
  /** Whether a call of this tool can be repeated with the same number without a second effect. */
  mayRepeat(tool: string, isSameDatabase: boolean): boolean
}

const LOST =
  'The gateway that received this call has ended, and another one has taken over. The call may have been executed: ' +
  'check that before you repeat it.'
const NEWLINE = 0x0a

/**
 * Relays the lines of an MCP client on stdin and stdout to a gateway, and to the next one when the first ends. The
 * client only sees a delay: the relay repeats the handshake and every request that can be repeated.
 */
export class Relay {
  readonly #deps: RelayDeps
  /** Resolves when the client has disconnected. */
  readonly gone: Promise<void>
  #isGone = false
  readonly #open = new Map<string | number, OpenRequest>()
  /** The handshake of a client of an older protocol revision. */
  readonly #handshake: string[] = []
  #handshakeId: string | number | undefined
  /** The id of a repeated handshake, whose response is not relayed. */
  #unexpected: string | number | undefined
  #link: Duplex | undefined
  #count = 0

  constructor(deps: RelayDeps) {
    this.#deps = deps
    const { input } = deps
    this.gone = new Promise((resolve) => {
      const disconnect = () => {
        this.#isGone = true
        resolve()
      }
      input.once('end', disconnect)
      input.once('close', disconnect)
    })
    eachLine(input, (line) => this.#fromClient(line.toString('utf8')))
    input.pause()
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Relays lines until the gateway closes the link, or the client has disconnected. */
  async over(link: Duplex, isSameDatabase: boolean): Promise<void> {
    const { input } = this.#deps
    const lost = new Promise<void>((resolve) => {
      link.once('close', resolve)
      link.once('end', resolve)
    })
    link.on('error', () => link.destroy())
    this.#link = link
    eachLine(link, (line) => this.#fromGateway(line))
    this.#resume(isSameDatabase)
    input.resume()
    await Promise.race([lost, this.gone])
    input.pause()
    this.#link = undefined
    link.end()
    link.destroy()
  }

  #resume(isSameDatabase: boolean): void {
    const hasHandshake = this.#handshakeId !== undefined && !this.#open.has(this.#handshakeId)
    if (hasHandshake) this.#unexpected = this.#handshakeId
    for (const line of hasHandshake ? this.#handshake : []) this.#send(line)
    for (const { id, line, tool } of [...this.#open.values()]) {
      if (tool === undefined || this.#deps.mayRepeat(tool, isSameDatabase)) this.#send(line)
      else {
        this.#open.delete(id)
        this.#toClient(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: LOST } }))
      }
    }
  }

  #fromClient(text: string): void {
    const line = `${++this.#count} ${text}`
    const { id, method, params = {} } = readMessage(text)
    if (id !== undefined && method !== undefined) {
      const tool = method === 'tools/call' ? String(params.name) : undefined
      this.#open.set(id, { id, line, tool })
      if (method === 'initialize') {
        this.#handshakeId = id
        this.#handshake.push(line)
      }
    }
    if (method === 'notifications/initialized') this.#handshake.push(line)
    // A canceled request gets no response.
    if (method === 'notifications/cancelled' && isId(params.requestId)) this.#open.delete(params.requestId)
    this.#send(line)
  }

  #fromGateway(line: Buffer): void {
    const text = line.toString('utf8')
    const { id, method } = readMessage(text)
    if (id !== undefined && method === undefined) {
      if (id === this.#unexpected) {
        this.#unexpected = undefined
        return
      }
      this.#open.delete(id)
    }
    this.#toClient(text)
  }

  #send(line: string): void {
    const { input } = this.#deps
    const link = this.#link
    if (link === undefined || link.destroyed || link.write(`${line}\n`)) return
    input.pause()
    link.once('drain', () => {
      if (this.#link === link) input.resume()
    })
  }

  #toClient(text: string): void {
    const { output } = this.#deps
    const link = this.#link
    if (output.write(`${text}\n`) || link === undefined) return
    link.pause()
    output.once('drain', () => link.resume())
  }
}

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** The fields of a message that the relay needs. A line that is not a message is relayed, too. */
function readMessage(text: string): Message {
  try {
    const read: unknown = JSON.parse(text)
    if (!isObject(read)) return {}
    const { id, method, params } = read
    return {
      ...(isId(id) && { id }),
      ...(typeof method === 'string' && { method }),
      ...(isObject(params) && { params }),
    }
  } catch {
    return {}
  }
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** Calls back with each line, without its end. */
function eachLine(stream: Readable, take: (line: Buffer) => void): void {
  let chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...chunks, rest.subarray(0, end)])
      chunks = []
      rest = rest.subarray(end + 1)
      if (line.length > 0) take(line)
    }
    if (rest.length > 0) chunks.push(rest)
  })
}
