import type pg from 'pg'
import type { Entries, Entry } from '../entries.ts'
import { arrayOf } from './arrays.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { type Pooled, run, type Value } from './database.ts'

const COLUMNS = 'tenant, kind, name, version, value, due_at'
const INSERT = `INSERT INTO entries AS e (tenant, kind, name, value, due_at, version) VALUES ($1, $2, $3, $4, $5, 1)`

const STATEMENTS = {
  entry: `SELECT ${COLUMNS} FROM entries WHERE tenant = $1 AND kind = $2 AND name = $3`,
  several_entries: `SELECT ${COLUMNS} FROM entries WHERE tenant = $1 AND kind = $2 AND 
    name IN (SELECT jsonb_array_elements_text($3::jsonb))`,
  entries: `SELECT ${COLUMNS} FROM entries WHERE tenant = $1 AND kind = $2 AND name > $3 ORDER BY name LIMIT $4`,
  entries_due: `SELECT ${COLUMNS} FROM entries WHERE tenant = $1 AND kind = $2 AND due_at <= $3
    ORDER BY due_at, name LIMIT $4`,
  insert_entry: `${INSERT} ON CONFLICT DO NOTHING RETURNING version`,
  upsert_entry: `${INSERT} ON CONFLICT (tenant, kind, name)
    DO UPDATE SET value = excluded.value, due_at = excluded.due_at, version = e.version + 1 RETURNING version`,
  update_entry: `UPDATE entries SET value = $4, due_at = $5, version = version + 1
    WHERE tenant = $1 AND kind = $2 AND name = $3 AND version = $6 RETURNING version`,
  insert_entries: `INSERT INTO entries (tenant, kind, name, value, due_at, version)
    SELECT $1, $2, x.name, x.value, x.due_at, 1
    FROM unnest($3::text[], $4::text[], $5::bigint[]) AS x (name, value, due_at)
    ON CONFLICT DO NOTHING RETURNING name`,
  remove_first_due: `DELETE FROM entries WHERE tenant = $1 AND kind = $2 AND name IN (
    SELECT name FROM entries WHERE tenant = $1 AND kind = $2 AND due_at IS NOT NULL ORDER BY due_at LIMIT $3)`,
  count_entries: `SELECT count(*)::int AS count FROM (
    SELECT FROM entries WHERE tenant = $1 AND kind = $2 LIMIT $3) e`,
  remove_entry: `DELETE FROM entries WHERE tenant = $1 AND kind = $2 AND name = $3 RETURNING version`,
} as const

interface Written {
  readonly version: number
}

export function entriesOn(pooled: Pooled): Entries {
  const sending =
    (using: typeof readTenant) =>
    <Row extends pg.QueryResultRow>(name: keyof typeof STATEMENTS, tenant: number, ...values: Value[]) =>
      using(pooled, tenant, (client) =>
        run<Row>(client, { name, text: STATEMENTS[name] }, [tenant, ...values]),
      )
  const ask = sending(readTenant)
  const change = sending(writeTenant)
  return {
    get: async (tenant, kind, name) => (await ask<Entry>('entry', tenant, kind, name))[0],
    several: (tenant, kind, names) => ask<Entry>('several_entries', tenant, kind, JSON.stringify(names)),
    list: (tenant, kind, after, limit) => ask<Entry>('entries', tenant, kind, after, limit),
    due: (tenant, kind, now, limit) => ask<Entry>('entries_due', tenant, kind, now, limit),
    async put({ tenant, kind, name, value, due_at }, expected) {
      const values = [kind, name, value, due_at]
      const written =
        expected === undefined
          ? await change<Written>('upsert_entry', tenant, ...values)
          : expected === 0
            ? await change<Written>('insert_entry', tenant, ...values)
            : await change<Written>('update_entry', tenant, ...values, expected)
      return written[0]?.version
    },
    async insertNew(drafts) {
      const [first] = drafts
      if (first === undefined) return new Set()
      const columns = [
        arrayOf(
          'text',
          drafts.map(({ name }) => name),
        ),
        arrayOf(
          'text',
          drafts.map(({ value }) => value),
        ),
        arrayOf(
          'bigint',
          drafts.map(({ due_at }) => due_at),
        ),
      ]
      const rows = await change<{ name: string }>('insert_entries', first.tenant, first.kind, ...columns)
      return new Set(rows.map(({ name }) => name))
    },
    async removeFirstDue(tenant, kind, limit) {
      await change('remove_first_due', tenant, kind, limit)
    },
    async count(tenant, kind, limit) {
      const [row] = await ask<{ count: number }>('count_entries', tenant, kind, limit)
      return row?.count ?? 0
    },
    remove: async (tenant, kind, name) =>
      (await change<Written>('remove_entry', tenant, kind, name)).length > 0,
  }
}
