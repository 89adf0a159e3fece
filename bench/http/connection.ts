import { connect, type Socket } from 'node:net'

/** One keep-alive connection that sends one request at a time, with as little work as possible. */
export class Connection {
  readonly #socket: Socket
  readonly #head: string
  #received = ''
  #isOpen = true
  #waiting: { resolve: (body: string) => void; reject: (error: Error) => void } | undefined

  private constructor(socket: Socket, port: number, headers: string) {
    this.#socket = socket
    this.#head = `Host: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n${headers}`
    socket.setEncoding('latin1')
    socket.setNoDelay(true)
    socket.on('data', (text: string) => this.#receive(text))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  /** False once the server has closed the connection, as it does after some refusals. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** `headers` are sent with every request; each ends with CRLF. */
  static open(port: number, headers = ''): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Connection(socket, port, headers)))
      socket.once('error', reject)
    })
  }

  /** Sends a POST and resolves with the body of a 2xx response. */
  post(path: string, body: string, headers = ''): Promise<string> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new Error('the connection is closed'))
      this.#waiting = { resolve, reject }
      this.#socket.write(
        `POST ${path} HTTP/1.1\r\n${this.#head}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #fail(error: Error): void {
    this.#isOpen = false
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(error)
  }

  #receive(text: string): void {
    this.#received += text
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#received.slice(0, end)
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN)
    if (Number.isNaN(length)) throw new Error(`an answer without a length: ${head}`)
    if (this.#received.length < end + 4 + length) return
    const body = this.#received.slice(end + 4, end + 4 + length)
    this.#received = this.#received.slice(end + 4 + length)
    const waiting = this.#waiting
    this.#waiting = undefined
    if (/\r\nconnection: *close/i.test(head)) this.#isOpen = false
    if (/^HTTP\/1\.1 2/.test(head)) waiting?.resolve(body)
    else waiting?.reject(new Error(`${head.split('\r\n')[0]} ${body}`))
  }
}
