import pg from 'pg'

/** The clock of a PostgreSQL database, which can be set like that of a host. */
export interface SettableClock {
  /** Sets the clock forward or back. */
  step(ms: number): Promise<void>
  close(): Promise<void>
}

/** Affects sessions that begin afterwards: a function of that name in the schema is found before the built-in one. */
export async function settableClock(url: string): Promise<SettableClock> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const database = pg.escapeIdentifier(decodeURIComponent(new URL(url).pathname.slice(1)))
  await client.query(`
    CREATE SCHEMA test_clock;
    CREATE TABLE test_clock.steps (ms bigint NOT NULL);
    CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS $$
      SELECT pg_catalog.clock_timestamp()
        + (SELECT coalesce(sum(ms), 0) FROM test_clock.steps) * interval '1 millisecond'
    $$;
    ALTER DATABASE ${database} SET search_path = public, pg_catalog`)
  return {
    async step(ms) {
      await client.query('INSERT INTO test_clock.steps VALUES ($1)', [ms])
    },
    close: () => client.end(),
  }
}
