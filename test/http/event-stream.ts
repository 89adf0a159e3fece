import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { asCaller, suiteAuthMode } from '../support/auth-modes.ts'
import { soon } from '../support/steps.ts'
import { members } from './support.ts'

type Change = ReturnType<typeof members>

/** A client of an event stream. */
export class EventStream {
  readonly #request: ClientRequest
  readonly message: IncomingMessage
  readonly #changes: Change[] = []
  #arrived = () => {}

  private constructor(sent: ClientRequest, message: IncomingMessage) {
    this.#request = sent
    this.message = message
    let text = ''
    message.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const data = /^event: task\ndata: (.*)$/.exec(part)?.[1]
        if (data !== undefined) this.#changes.push(members(JSON.parse(data)))
      }
      this.#arrived()
    })
    message.on('error', () => {})
  }

  static async open(port: number, asked: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const caller = asCaller(suiteAuthMode(), Object.fromEntries(new URLSearchParams(asked)))
    const query = new URLSearchParams(
      Object.entries(caller.fields).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const sent = request({
      port,
      host: '127.0.0.1',
      path: `/v1/events?${query}`,
      headers: { ...caller.headers, ...headers },
      agent: false,
    }).end()
    const [message] = await soon(once(sent, 'response'))
    return new EventStream(sent, message)
  }

  /** The next change, in order. */
  async next(): Promise<Change> {
    for (;;) {
      const change = this.#changes.shift()
      if (change !== undefined) return change
      await soon(
        new Promise<void>((resolve) => {
          this.#arrived = resolve
        }),
      )
    }
  }

  /** The events that have arrived and were not read yet. */
  get unread(): number {
    return this.#changes.length
  }

  close(): void {
    this.#request.destroy()
  }
}
