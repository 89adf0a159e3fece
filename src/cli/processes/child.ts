import type { Config } from '../../config/index.ts'
import type { MetricValues, Siblings } from '../../http/metrics.ts'
import type { Output } from '../output.ts'
import { serveUntilStopped } from '../server-process.ts'
import type { FromServer, ToServer } from './messages.ts'

/** Runs one of the processes of a server until the process that started it asks it to stop. */
export async function serveAsChild(config: Config, output: Output): Promise<void> {
  const parent = new Parent()
  try {
    await serveUntilStopped(config, output, undefined, {
      unneeded: parent.stopped,
      siblings: parent,
      announce: async (url) => {
        parent.listening(url)
        return () => {}
      },
    })
  } finally {
    // Otherwise the channel keeps the process alive.
    process.channel?.unref()
  }
}

class Parent implements Siblings {
  /** Resolves when the server should stop. */
  readonly stopped: Promise<void>
  readonly #scrapes = new Map<number, (values: readonly MetricValues[]) => void>()
  #scrapeCount = 0
  #read: (() => Promise<MetricValues>) | undefined

  constructor() {
    this.stopped = new Promise((stop) => {
      process.on('message', (message: ToServer) => {
        if (message.kind === 'stop') stop()
        else if (message.kind === 'collect') void this.#collect(message.id)
        else this.#take(message.id, message.values)
      })
    })
  }

  listening(url: string): void {
    this.#send({ kind: 'listening', url })
  }

  share(read: () => Promise<MetricValues>): void {
    this.#read = read
  }

  gather(): Promise<readonly MetricValues[]> {
    this.#scrapeCount += 1
    const id = this.#scrapeCount
    return new Promise((resolve) => {
      this.#scrapes.set(id, resolve)
      this.#send({ kind: 'scrape', id })
    })
  }

  async #collect(id: number): Promise<void> {
    this.#send({ kind: 'metrics', id, values: (await this.#read?.()) ?? [] })
  }

  #take(id: number, values: readonly MetricValues[]): void {
    this.#scrapes.get(id)?.(values)
    this.#scrapes.delete(id)
  }

  #send(message: FromServer): void {
    if (process.connected) process.send?.(message)
  }
}
