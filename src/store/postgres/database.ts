import pg from 'pg'
import { Liveness } from './liveness.ts'

export interface Statement {
  /** Prepared under this name once per connection. */
  readonly name: string
  readonly text: string
}

export type Value = string | number | Buffer | null

export interface Connections extends Pooled {
  /** A separate connection for transactions. */
  client(): Promise<pg.Client>
}

/** What short reads share. */
export interface Pooled {
  readonly pool: pg.Pool
  readonly liveness: Liveness
}

const CONNECT_MS = 5_000
const STATEMENT_MS = 8_000
const POOL_SIZE = 4

/**
 * How long a server that stands still in the middle of a transaction can hold up the others. The first is for one that
 * the database waits for, the second for one that does not take what the database sends.
 */
const IDLE_IN_TRANSACTION_MS = 2_000
const UNREAD_MS = 5_000

/**
 * Sent once per connection, not as startup options: those of the URL would replace them, and connection poolers
 * refuse them. The planner is kept to walking indexes: a named statement keeps the plan of the day on which the
 * table was empty, and that may be to read all of it.
 */
const SETTINGS = `
  SET statement_timeout = ${STATEMENT_MS};
  SET lock_timeout = 5000;
  SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS};
  SET tcp_user_timeout = ${UNREAD_MS};
  SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 1;
  SET tcp_keepalives_count = 5;
  SET jit = off;
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off;
  SET enable_bitmapscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
`

const INT8 = 20
const INT8_ARRAY = 1016

/** All our 64-bit numbers are safe integers: times, seqs and ranks. */
function parsers(): pg.TypeOverrides {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, Number)
  types.setTypeParser(INT8_ARRAY, (text: string) =>
    text === '{}' ? [] : text.slice(1, -1).split(',').map(Number),
  )
  return types
}

export function connectTo(url: string): Connections {
  const config: pg.ClientConfig = {
    connectionString: url,
    application_name: 'asyncgate',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    connectionTimeoutMillis: CONNECT_MS,
    pipeline: true,
    types: parsers(),
  }
  const liveness = new Liveness()
  /** A connection that breaks while it is in use also fails the query, which is where it is dealt with. */
  const prepare = async (client: pg.ClientBase) => {
    client.on('error', ignore)
    await client.query(SETTINGS)
    liveness.heard(client)
  }
  const pool = new pg.Pool({
    ...config,
    max: POOL_SIZE,
    idleTimeoutMillis: 60_000,
    query_timeout: STATEMENT_MS,
    onConnect: prepare,
  })
  // An idle connection that breaks is replaced when it is needed; no call is waiting for it.
  pool.on('error', ignore)
  return {
    pool,
    liveness,
    async client() {
      const client = new pg.Client(config)
      client.on('error', ignore)
      const timer = setTimeout(() => destroy(client), CONNECT_MS)
      try {
        await client.connect()
        await prepare(client)
        return client
      } catch (error) {
        destroy(client)
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** Issues queries as one write, without waiting in between: one round trip for all of them. */
export function pipelined<T>(client: pg.Client, issue: () => T): T {
  const { stream } = client.connection
  stream.cork()
  try {
    return issue()
  } finally {
    stream.uncork()
  }
}

export async function run<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  { name, text }: Statement,
  values: readonly Value[] = [],
): Promise<Row[]> {
  const { rows } = await client.query<Row>({ name, text, values: [...values] })
  return rows
}

/** Waits for all of them. Of several errors the first is the cause: later statements fail because of it. */
export async function settled<const T extends readonly Promise<unknown>[]>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** Says goodbye, but does not wait long for an answer. */
export async function end(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => destroy(client), 1_000)
  await client.end()
  clearTimeout(timer)
}

/** Fails whatever waits on the connection. */
export function destroy(client: pg.Client): void {
  client.connection.stream.destroy()
}

export function isLost(client: pg.Client): boolean {
  return client.connection.stream.destroyed
}

export function ignore(): void {}
