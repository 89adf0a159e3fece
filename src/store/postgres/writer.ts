import type pg from 'pg'
import { StoreError } from '../store.ts'
import { type Connections, destroy, end, ignore } from './database.ts'
import { isWorthRepeating } from './failure.ts'

/** A commit that has no answer by then is given up. */
const DEADLINE_MS = 8_000

/** The one connection that writes. It is replaced when it is lost, at the next use. */
export class Writer {
  readonly #connections: Connections
  #client: pg.Client | undefined
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /**
   * Runs one transaction after the other. `work` leaves nothing unanswered behind, also when it fails. It is called once
   * more, on a new connection, if the connection is lost before it has sent COMMIT.
   */
  transact<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const deadline = performance.now() + DEADLINE_MS
    const result = this.#last.then(() => this.#transact(work, deadline))
    this.#last = result.catch(ignore)
    return result
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#last
    if (this.#client !== undefined) await end(this.#client)
  }

  async #transact<T>(work: (client: pg.Client) => Promise<T>, deadline: number): Promise<T> {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
    if (performance.now() >= deadline)
      throw new StoreError('unavailable', 'the commits before it took too long')
    const client = await this.#connected()
    try {
      return await this.#attempt(client, work, deadline)
    } catch (error) {
      if (!isWorthRepeating(error) || performance.now() >= deadline) throw error
    }
    return this.#attempt(await this.#connected(), work, deadline)
  }

  async #attempt<T>(
    client: pg.Client,
    work: (client: pg.Client) => Promise<T>,
    deadline: number,
  ): Promise<T> {
    const timer = setTimeout(() => destroy(client), deadline - performance.now())
    const stop = this.#connections.liveness.watch(client)
    try {
      return await work(client)
    } catch (error) {
      // After an error of the database the state of the connection does not matter.
      if (error instanceof StoreError) this.#drop(client)
      else await client.query('ROLLBACK').catch(() => this.#drop(client))
      throw error
    } finally {
      stop()
      clearTimeout(timer)
    }
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client !== undefined && this.#connections.liveness.isSuspect(this.#client)) {
      this.#drop(this.#client)
    }
    if (this.#client !== undefined) return this.#client
    try {
      const client = await this.#connections.client()
      this.#client = client
      client.on('error', () => this.#drop(client))
      client.on('end', () => this.#drop(client))
      return client
    } catch (error) {
      throw new StoreError('unavailable', error)
    }
  }

  #drop(client: pg.Client): void {
    destroy(client)
    if (this.#client === client) this.#client = undefined
  }
}
