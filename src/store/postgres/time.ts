import { SLOWER_BY } from '../time.ts'

/** The clock of the database server, in milliseconds since the epoch. It may be set back. */
export const CLOCK = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** How far the gate's time is ahead when the clock shows `at`, as the row `lead` says. */
function leadAt(at: string, lead: string): string {
  return `greatest(0, ${lead}.ahead - greatest(0, ${at} - ${lead}.since) / ${SLOWER_BY})`
}

/**
 * The gate's time: the clock, plus a lead if the clock was set back. All servers of a database share the lead, so they
 * agree on the time. It shrinks while the clock goes on, and the sum never decreases.
 */
export const NOW = `(
  SELECT c.at + coalesce((SELECT ${leadAt('c.at', 'l')} FROM clock_lead l), 0) FROM (SELECT ${CLOCK} AS at) c
)`

/** The gate's time, and whether another server than $1 follows the changes of all. */
export const READ_TIME = {
  name: 'read_time',
  text: `SELECT ${NOW} AS now, EXISTS (SELECT FROM followers WHERE server <> $1 AND until > ${CLOCK}) AS followed`,
}

/**
 * Does nothing unless a commit is later than the gate's time, which means that the clock was set back. Then it raises
 * the lead so that time goes on from that commit instead of standing still until the clock has caught up.
 */
export const CATCH_UP = {
  name: 'catch_up',
  text: `
    INSERT INTO clock_lead AS l (ahead, since)
    SELECT t.last - c.at, c.at FROM (SELECT max(committed_at) AS last FROM tenants) t, (SELECT ${CLOCK} AS at) c
    WHERE t.last > ${NOW}
    ON CONFLICT (one) DO UPDATE SET ahead = excluded.ahead, since = excluded.since
    WHERE excluded.ahead > ${leadAt('excluded.since', 'l')}`,
}
