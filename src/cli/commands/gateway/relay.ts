import type { Duplex, Readable, Writable } from 'node:stream'
import { isObject } from '../../../util/guards.ts'

/** A request of the client that has no answer yet. */
interface OpenRequest {
  readonly id: string | number
  readonly line: string
  /** The tool that it calls, if it calls one. */
  readonly tool: string | undefined
}

export interface RelayParts {
  readonly input: Readable
  readonly output: Writable
  /** Whether a call of this tool, sent again with the number that it had, does nothing twice. */
  mayRepeat(tool: string, isSameDatabase: boolean): boolean
}

const LOST =
  'The gateway that this call was sent to has ended, and another one has taken over. The call may have been carried ' +
  'out: check that before you repeat it.'
const NEWLINE = 0x0a

/**
 * Carries the lines of an MCP client on stdin and stdout to a gateway, and to the next one when that ends. The client
 * notices nothing but a pause: the handshake is repeated for it, and so are the requests that can be.
 */
export class Relay {
  readonly #parts: RelayParts
  /** Resolves when the client has closed its end. */
  readonly gone: Promise<void>
  #isGone = false
  readonly #open = new Map<string | number, OpenRequest>()
  /** The lines with which a client of an older revision has introduced itself. */
  readonly #handshake: string[] = []
  #handshakeId: string | number | undefined
  /** The answer to a repeated handshake, which the client does not expect. */
  #unexpected: string | number | undefined
  #link: Duplex | undefined
  #count = 0

  constructor(parts: RelayParts) {
    this.#parts = parts
    const { input } = parts
    this.gone = new Promise((resolve) => {
      const leave = () => {
        this.#isGone = true
        resolve()
      }
      input.once('end', leave)
      input.once('close', leave)
    })
    eachLine(input, (line) => this.#fromClient(line.toString('utf8')))
    input.pause()
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Carries lines until the gateway ends the link, or the client has gone. */
  async over(link: Duplex, isSameDatabase: boolean): Promise<void> {
    const { input } = this.#parts
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
    const isIntroduced = this.#handshakeId !== undefined && !this.#open.has(this.#handshakeId)
    if (isIntroduced) this.#unexpected = this.#handshakeId
    for (const line of isIntroduced ? this.#handshake : []) this.#send(line)
    for (const { id, line, tool } of [...this.#open.values()]) {
      if (tool === undefined || this.#parts.mayRepeat(tool, isSameDatabase)) this.#send(line)
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
    // Nobody answers a request that was canceled.
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
    const { input } = this.#parts
    const link = this.#link
    if (link === undefined || link.destroyed || link.write(`${line}\n`)) return
    input.pause()
    link.once('drain', () => {
      if (this.#link === link) input.resume()
    })
  }

  #toClient(text: string): void {
    const { output } = this.#parts
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

/** As much of a message as a relay has to know. A line that is none is carried all the same. */
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
  let parts: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)])
      parts = []
      rest = rest.subarray(end + 1)
      if (line.length > 0) take(line)
    }
    if (rest.length > 0) parts.push(rest)
  })
}
