import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Gate, openGate } from '../../dist/features/gate.js'
import { openPostgresStore } from '../../dist/store/postgres/store.js'
import { openSqliteStore } from '../../dist/store/sqlite/store.js'
import type { Store } from '../../dist/store/store.js'
import { type PostgresProcess, startPostgres } from '../../test/support/postgres-process.ts'

export type StoreName = 'sqlite' | 'postgres'

/** A database without tasks. */
export interface Database {
  readonly name: StoreName
  /** A path or a URL. */
  readonly address: string
  drop(): Promise<void>
}

/** The address of a database as a setting. */
export function urlOf({ name, address }: Pick<Database, 'name' | 'address'>): string {
  return name === 'sqlite' ? `sqlite:${address}` : address
}

/** The database server and the folder of one benchmark run. */
export class Databases {
  readonly #folder = mkdtempSync(join(tmpdir(), 'asyncgate-bench-'))
  readonly #server: PostgresProcess
  #count = 0

  private constructor(server: PostgresProcess) {
    this.#server = server
  }

  static async start(): Promise<Databases> {
    return new Databases(
      await startPostgres({
        settings: { shared_buffers: '1GB', max_wal_size: '4GB', fsync: 'on', synchronous_commit: 'on' },
      }),
    )
  }

  /** A database with the schema of this version. */
  async create(name: StoreName): Promise<Database> {
    const database = await this.createEmpty(name)
    await (await openStore(name, database.address)).close()
    return database
  }

  /** A database without a schema, for the version that opens it first. */
  async createEmpty(name: StoreName): Promise<Database> {
    const id = `bench_${++this.#count}`
    const address = name === 'sqlite' ? join(this.#folder, `${id}.db`) : await this.#createPostgres(id)
    return {
      name,
      address,
      drop: async () => {
        if (name === 'postgres') await this.#execute(`DROP DATABASE ${id} WITH (FORCE)`)
        else for (const suffix of ['', '-wal', '-shm', '-lock']) rmSync(address + suffix, { force: true })
      },
    }
  }

  async remove(): Promise<void> {
    await this.#server.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #createPostgres(id: string): Promise<string> {
    await this.#execute(`CREATE DATABASE ${id}`)
    const url = new URL(this.#server.url)
    url.pathname = `/${id}`
    return url.href
  }

  async #execute(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#server.url })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
}

export function openStore(name: StoreName, address: string): Promise<Store> {
  return name === 'sqlite' ? openSqliteStore({ path: address }) : openPostgresStore({ url: address })
}

export async function openGateOn(database: { name: StoreName; address: string }): Promise<Gate> {
  const store = await openStore(database.name, database.address)
  return openGate({ store, sweeping: false, onError: (error) => console.error(error) })
}
