import type { Worker as ServerProcess } from 'node:cluster'
import type { MetricValues } from '../../http/metrics.ts'
import type { ToServer } from './messages.ts'

/** A process that does not respond in time is left out. */
const TIMEOUT_MS = 2_000

interface Scrape {
  readonly missing: Set<ServerProcess>
  readonly values: MetricValues[]
  finish(): void
}

/** Collects the metrics of all server processes for the one that was asked for them. */
export class Scrapes {
  readonly #open = new Map<number, Scrape>()
  #count = 0

  /** `asker` gets the metrics of all processes in `servers` as the response to its request `id`. */
  ask(asker: ServerProcess, id: number, servers: Iterable<ServerProcess>): void {
    this.#count += 1
    const own = this.#count
    const values: MetricValues[] = []
    const finish = () => {
      clearTimeout(timer)
      this.#open.delete(own)
      send(asker, { kind: 'collected', id, values })
    }
    const timer = setTimeout(finish, TIMEOUT_MS)
    this.#open.set(own, { missing: new Set(servers), values, finish })
    for (const server of servers) send(server, { kind: 'collect', id: own })
  }

  answer(server: ServerProcess, id: number, values: MetricValues): void {
    const scrape = this.#open.get(id)
    if (scrape === undefined || !scrape.missing.delete(server)) return
    scrape.values.push(values)
    if (scrape.missing.size === 0) scrape.finish()
  }

  ended(server: ServerProcess): void {
    for (const scrape of this.#open.values()) {
      if (scrape.missing.delete(server) && scrape.missing.size === 0) scrape.finish()
    }
  }
}

export function send(server: ServerProcess, message: ToServer): void {
  if (server.isConnected()) server.send(message)
}
