import { tenantSalt } from '../../core/ids.ts'
import { messageOf } from '../../util/error-message.ts'
import { cryptoRandom, type Random } from '../../util/random.ts'
import type { AuditRows } from '../audit.ts'
import type { Entries, Logs } from '../entries.ts'
import type { Erasure } from '../erasure.ts'
import type { FlowReads } from '../flow.ts'
import type { HistoryRows } from '../history.ts'
import type { LedgerLog } from '../ledger-log.ts'
import type { OutboxRows } from '../outbox.ts'
import type { Reads } from '../reads.ts'
import type { Retention } from '../retention.ts'
import {
  type Changes,
  type Committed,
  type Hint,
  type Loaded,
  type Need,
  type Store,
  StoreError,
  type TaskRef,
  type TenantRef,
} from '../store.ts'
import type { UsageRows } from '../usage.ts'
import { auditOn } from './audit.ts'
import { repeatable } from './borrow.ts'
import { commit } from './commit.ts'
import { type Connections, connectTo, end, run } from './database.ts'
import { entriesOn } from './entries.ts'
import { postgresErasure } from './erasure.ts'
import { postgresFlowReads } from './flow-reads.ts'
import { historyOn } from './history.ts'
import { inboxReadsOn } from './inbox.ts'
import { ledgerLogOn } from './ledger-log.ts'
import { Listener } from './listen.ts'
import { logsOn } from './logs.ts'
import { migrate } from './migrate.ts'
import { outboxOn } from './outbox.ts'
import { questionReadsOn } from './questions.ts'
import { findDue, findNextWake, readsOn } from './reads.ts'
import { postgresRetention } from './retention.ts'
import { CATCH_UP, NOW } from './time.ts'
import { usageOn } from './usage.ts'
import { Writer } from './writer.ts'

export interface PostgresOptions {
  readonly url: string
  /** Replaces the clock of the database, without corrections. */
  readonly now?: () => number
  readonly random?: Random
}

const BATCH_SIZE = { min: 500, max: 500 }

export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const connections = connectTo(options.url)
  try {
    const client = await connections.client()
    try {
      await migrate(client)
    } finally {
      await end(client)
    }
    return new PostgresStore(connections, options)
  } catch (error) {
    await connections.pool.end()
    const reason = messageOf(error)
    throw new StoreError(
      'unavailable',
      new Error(`The database cannot be opened: ${reason}`, { cause: error }),
    )
  }
}

class PostgresStore implements Store {
  readonly batchSize = BATCH_SIZE
  readonly shared = true
  readonly reads: Reads
  readonly entries: Entries
  readonly logs: Logs
  readonly audit: AuditRows
  readonly erasure: Erasure
  readonly retention: Retention
  readonly flow: FlowReads
  readonly usage: UsageRows
  readonly history: HistoryRows
  readonly outbox: OutboxRows
  readonly ledgerLog: LedgerLog
  readonly #connections: Connections
  readonly #writer: Writer
  readonly #listener: Listener
  readonly #now: (() => number) | undefined
  readonly #random: Random
  readonly #tenants = new Map<string, Promise<TenantRef>>()
  #secret: Buffer | undefined
  #closed: Promise<void> | undefined

  constructor(connections: Connections, { now, random }: PostgresOptions) {
    this.#connections = connections
    this.#now = now
    this.#random = random ?? cryptoRandom()
    this.#writer = new Writer(connections)
    this.#listener = new Listener(connections)
    this.reads = { ...readsOn(connections), ...inboxReadsOn(connections), ...questionReadsOn(connections) }
    this.logs = logsOn(connections)
    this.audit = auditOn(connections)
    this.erasure = postgresErasure(connections)
    this.retention = postgresRetention(connections)
    this.flow = postgresFlowReads(connections)
    this.usage = usageOn(connections)
    this.history = historyOn(connections)
    this.outbox = outboxOn(connections)
    this.ledgerLog = ledgerLogOn(connections)
    this.entries = entriesOn(connections)
  }

  tenant(name: string, salt?: string): Promise<TenantRef> {
    const known = this.#tenants.get(name)
    if (known !== undefined) return known
    const found = this.#findTenant(name, salt)
    this.#tenants.set(name, found)
    found.catch(() => this.#tenants.delete(name))
    return found
  }

  tenants(): Promise<TenantRef[]> {
    return this.#query('SELECT tenant, name, salt FROM tenants ORDER BY tenant')
  }

  commit(need: Need, decide: (loaded: Loaded) => Changes | Need): Promise<Committed> {
    const catchUp = async () => {
      await repeatable(this.#connections, (client) => run(client, CATCH_UP))
    }
    return this.#writer.transact((client) =>
      commit(client, need, decide, {
        now: this.#now,
        catchUp,
        listener: this.#listener,
        random: this.#random,
      }),
    )
  }

  due(limit: number): Promise<TaskRef[]> {
    return findDue(this.#connections, limit, this.#now?.() ?? null)
  }

  nextWake(tenant: number): Promise<number | null> {
    return findNextWake(this.#connections, tenant, this.#now?.() ?? null)
  }

  listen(onHint: (hint: Hint) => void): void {
    this.#listener.listen(onHint)
  }

  follow(): Promise<void> {
    return this.#listener.follow()
  }

  async secret(): Promise<Buffer> {
    if (this.#secret !== undefined) return this.#secret
    const insert = `INSERT INTO secrets (name, value) VALUES ('cursors', $1) ON CONFLICT (name) DO NOTHING`
    await this.#query(insert, [Buffer.from(this.#random.hex(32), 'hex')])
    const [row] = await this.#query<{ value: Buffer }>(`SELECT value FROM secrets WHERE name = 'cursors'`)
    if (row === undefined) throw new StoreError('unavailable', 'the secret was not stored')
    this.#secret = row.value
    return row.value
  }

  async now(): Promise<number> {
    if (this.#now !== undefined) return this.#now()
    const [row] = await this.#query<{ now: number }>(`SELECT ${NOW} AS now`)
    if (row === undefined) throw new StoreError('unavailable', 'the clock has no time')
    return row.now
  }

  async ping(): Promise<void> {
    await this.#query('SELECT 1')
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#listener.close(), this.#connections.pool.end()])
  }

  async #findTenant(name: string, salt: string | undefined): Promise<TenantRef> {
    const select = 'SELECT tenant, name, salt FROM tenants WHERE name = $1'
    const insert = 'INSERT INTO tenants (name, salt) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING'
    const [known] = await this.#query<TenantRef>(select, [name])
    if (known !== undefined) return known
    await this.#query(insert, [name, salt ?? tenantSalt(this.#random)])
    const [made] = await this.#query<TenantRef>(select, [name])
    if (made === undefined) throw new StoreError('unavailable', `the tenant ${name} was not stored`)
    return made
  }

  /** For statements that may be run twice. */
  #query<Row extends object>(text: string, values: readonly (string | Buffer)[] = []): Promise<Row[]> {
    return repeatable(this.#connections, async (client) => {
      const { rows } = await client.query<Row>(text, [...values])
      return rows
    })
  }
}
