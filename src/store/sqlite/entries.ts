import type { Entries, Entry, EntryDraft } from '../entries.ts'
import type { Change } from './database.ts'
import { type Database, inTransaction, type Statement, type Value } from './database.ts'
import { attemptAvailable } from './failure.ts'

const COLUMNS = 'tenant, kind, name, version, value, due_at'
const INSERT = 'INSERT INTO entries (tenant, kind, name, value, due_at, version) VALUES (?, ?, ?, ?, ?, 1)'

export function prepareEntries(reader: Database, writer: Database, change: Change): Entries {
  const get = reader.prepare(`SELECT ${COLUMNS} FROM entries WHERE tenant = ? AND kind = ? AND name = ?`)
  const several = reader.prepare(
    `SELECT ${COLUMNS} FROM entries WHERE tenant = ? AND kind = ? AND name IN (SELECT value FROM json_each(?))`,
  )
  const list = reader.prepare(
    `SELECT ${COLUMNS} FROM entries WHERE tenant = ? AND kind = ? AND name > ? ORDER BY name LIMIT ?`,
  )
  const due = reader.prepare(
    `SELECT ${COLUMNS} FROM entries WHERE tenant = ? AND kind = ? AND due_at <= ? ORDER BY due_at, name LIMIT ?`,
  )
  const count = reader.prepare(
    'SELECT count(*) AS count FROM (SELECT 1 FROM entries WHERE tenant = ? AND kind = ? LIMIT ?)',
  )
  const insert = writer.prepare(`${INSERT} ON CONFLICT DO NOTHING RETURNING version`)
  const upsert = writer.prepare(
    `${INSERT} ON CONFLICT DO UPDATE SET value = excluded.value, due_at = excluded.due_at, version = version + 1
    RETURNING version`,
  )
  const update = writer.prepare(
    `UPDATE entries SET value = ?, due_at = ?, version = version + 1
    WHERE tenant = ? AND kind = ? AND name = ? AND version = ? RETURNING version`,
  )
  const remove = writer.prepare('DELETE FROM entries WHERE tenant = ? AND kind = ? AND name = ?')
  const removeFirstDue = writer.prepare(
    `DELETE FROM entries WHERE tenant = ? AND kind = ? AND name IN (
      SELECT name FROM entries WHERE tenant = ? AND kind = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT ?)`,
  )
  const read = async (statement: Statement, ...values: Value[]) =>
    attemptAvailable(() => statement.all(...values) as Entry[])

  const write = ({ tenant, kind, name, value, due_at }: EntryDraft, expected: number | undefined) => {
    if (expected === undefined) return upsert.get(tenant, kind, name, value, due_at)
    if (expected === 0) return insert.get(tenant, kind, name, value, due_at)
    return update.get(value, due_at, tenant, kind, name, expected)
  }
  const insertAll = (drafts: readonly EntryDraft[]): ReadonlySet<string> => {
    const written = inTransaction(writer, () => drafts.filter((draft) => write(draft, 0) !== undefined))
    return new Set(written.map(({ name }) => name))
  }
  return {
    get: async (...key) => (await read(get, ...key))[0],
    several: (tenant, kind, names) => read(several, tenant, kind, JSON.stringify(names)),
    list: (...values) => read(list, ...values),
    due: (...values) => read(due, ...values),
    put: async (draft, expected) =>
      change(() => (write(draft, expected) as { readonly version: number } | undefined)?.version),
    insertNew: async (drafts) => change(() => insertAll(drafts)),
    removeFirstDue: async (tenant, kind, limit) => {
      change(() => removeFirstDue.run(tenant, kind, tenant, kind, limit))
    },
    count: async (...values) =>
      attemptAvailable(() => (count.get(...values) as { readonly count: number }).count),
    remove: async (...key) => change(() => remove.run(...key).changes > 0),
  }
}
