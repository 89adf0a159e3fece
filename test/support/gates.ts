import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe } from 'vitest'
import type { Caller, PrincipalKind, Role } from '../../src/core/principal.ts'
import type { Settings } from '../../src/core/settings.ts'
import type { Mail } from '../../src/features/email/email.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import type { LedgerLogOptions } from '../../src/features/ledger-log/ledger-log.ts'
import type { RateLimitOptions } from '../../src/features/limits/rate-limits.ts'
import type { Address } from '../../src/features/links.ts'
import type { PolicyOptions } from '../../src/features/policies/stored-policies.ts'
import type { SharedLedger } from '../../src/features/receipts/shared-ledger.ts'
import type { Memory, ResultStore } from '../../src/features/results/result-store.ts'
import type { RetentionOptions } from '../../src/features/retention/port.ts'
import type { TenantUpstreams, UpstreamRegistry } from '../../src/features/upstreams/upstreams.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Random } from '../../src/util/random.ts'
import { emptyDatabase, type FreshDatabase, freshDatabase, postgresUrl } from './postgres.ts'
import { commonMail, tenantUpstreams } from './tenants.ts'

/** A clock that only advances on request. */
export class ManualClock {
  now = Date.UTC(2026, 0, 1)

  advance(seconds: number): void {
    this.now += seconds * 1000
  }
}

export interface OpenOptions {
  readonly settings?: Partial<Settings>
  readonly random?: Random
  /** Whether the gate sweeps periodically; by default only when a test calls `gate.sweep()`. */
  readonly sweeping?: boolean
  /** Uses the clock of the database instead of the manual one. */
  readonly realTime?: boolean
  /** The store of large results. */
  readonly results?: ResultStore
  /** When receipts are archived, and where. */
  readonly retention?: RetentionOptions
  /** Wraps the store that the gate uses. */
  readonly wrap?: (store: Store) => Store
  /** The memory to which results can be promoted. */
  readonly memory?: Memory
  /** The ReceiptGate that the operations describe. */
  readonly sharedLedger?: SharedLedger
  /** The email of the gate. */
  readonly mail?: (store: Store, clock: ManualClock) => Mail
  /** The upstreams of the gate. */
  readonly upstreams?: (store: Store) => Promise<UpstreamRegistry | TenantUpstreams>
  /** The policy settings that are not in the database. */
  readonly policy?: PolicyOptions
  /** The tenants whose tasks can have a webhook. */
  readonly webhookTenants?: ReadonlySet<string>
  /** The log of receipts. */
  readonly ledgerLog?: LedgerLogOptions
  /** The rate limits of the server; none by default. */
  readonly rateLimits?: RateLimitOptions
  /** The address at which people reach the server of the gate. */
  readonly address?: () => Address | undefined
}

export interface Bench {
  readonly gate: Gate
  readonly store: Store
  readonly clock: ManualClock
  /** The file of an SQLite database. */
  readonly file?: string | undefined
  /** The URL of a PostgreSQL database. */
  readonly url?: string | undefined
  /** Errors that callers only see as a code such as INTERNAL_ERROR. */
  readonly errors: unknown[]
  /** Another gate on the same database. */
  another(options?: OpenOptions): Promise<Bench>
}

export type Open = (options?: OpenOptions) => Promise<Bench>

interface Database {
  readonly file?: string
  readonly url?: string
  store(options: { now?: () => number; random?: Random }): Promise<Store>
  drop(): Promise<void>
}

const DATABASES: Record<string, () => Promise<Database>> = {
  sqlite: sqliteDatabase,
  postgres: postgresDatabase,
}

/** Runs the same tests on every store, or on the named ones. Each call of `open` returns a gate on an empty database. */
export function describeGates(
  name: string,
  define: (open: Open, storeName: string) => void,
  storeNames: readonly string[] = Object.keys(DATABASES),
): void {
  const only = process.env.ASYNCGATE_TEST_STORES?.split(',')
  for (const [storeName, create] of Object.entries(DATABASES)) {
    if (!storeNames.includes(storeName) || only?.includes(storeName) === false) continue
    describe.skipIf(storeName === 'postgres' && !postgresUrl())(`${name} on ${storeName}`, () => {
      const closers: (() => Promise<unknown>)[] = []
      afterEach(async () => {
        for (const close of closers.splice(0).reverse()) await close()
      })
      afterAll(async () => {
        for (const database of free.splice(0)) await database.drop()
      })
      define(async (options = {}) => {
        const database = await create()
        closers.push(() => database.drop())
        return openOn(database, new ManualClock(), options, closers)
      }, storeName)
    })
  }
}

async function openOn(
  database: Database,
  clock: ManualClock,
  options: OpenOptions,
  closers: (() => Promise<unknown>)[],
): Promise<Bench> {
  const errors: unknown[] = []
  const opened = await database.store({
    ...(!options.realTime && { now: () => clock.now }),
    ...(options.random && { random: options.random }),
  })
  const store = options.wrap?.(opened) ?? opened
  const gate = openGate({
    store,
    sweeping: options.sweeping ?? false,
    onError: (error) => errors.push(error),
    ...(options.settings && { settings: options.settings }),
    ...(options.results && { results: options.results }),
    ...(options.retention && { retention: options.retention }),
    ...(options.memory && { memory: options.memory }),
    ...(options.sharedLedger && { sharedLedger: options.sharedLedger }),
    ...(options.policy && { policy: options.policy }),
    ...(options.webhookTenants && { webhookTenants: options.webhookTenants }),
    ...(options.ledgerLog && { ledgerLog: options.ledgerLog }),
    ...(options.rateLimits && { rateLimits: options.rateLimits }),
    ...(options.address && { address: options.address }),
    ...(options.random && { random: options.random }),
    ...(options.mail && { mail: commonMail(options.mail(store, clock)) }),
    ...(options.upstreams && { upstreams: tenantUpstreams(await options.upstreams(store)) }),
  })
  closers.push(() => gate.close())
  const another = (more = {}) => openOn(database, clock, more, closers)
  return { gate, store, clock, errors, file: database.file, url: database.url, another }
}

async function sqliteDatabase(): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-'))
  const file = join(folder, 'gate.db')
  return {
    file,
    store: (options) => openSqliteStore({ path: file, ...options }),
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Empty databases that the next test of this file can reuse. */
const free: FreshDatabase[] = []

async function postgresDatabase(): Promise<Database> {
  const database = free.pop() ?? (await freshDatabase('gate'))
  return {
    url: database.url,
    store: (options) => openPostgresStore({ url: database.url, ...options }),
    async drop() {
      await emptyDatabase(database.url)
      free.push(database)
    },
  }
}

export function caller(kind: PrincipalKind, id: string, role: Role, tenant = 'default'): Caller {
  return { tenant, principal: { kind, id }, role }
}

export const agent = (id = 'alice', tenant?: string) => caller('agent', id, 'agent', tenant)
export const worker = (id = 'w1', tenant?: string) => caller('worker', id, 'worker', tenant)
export const admin = (tenant?: string) => caller('human', 'root', 'admin', tenant)
