import { withoutPassword } from './database.ts'
import { engineTable } from './engine.ts'
import { mailTable } from './mail.ts'
import { resultsTable } from './results.ts'
import { serverTable } from './server.ts'
import { type About, about } from './setting.ts'
import { variableOf } from './sources.ts'

/** One line of the table of settings. */
export interface TableRow extends About {
  readonly name: string
  readonly variable: string
}

/** Every setting, in the order of the documentation. */
export const TABLE: readonly TableRow[] = Object.entries({
  ...serverTable.shape,
  ...engineTable.shape,
  ...resultsTable.shape,
  ...mailTable.shape,
}).map(([name, field]) => {
  const known = about.get(field)
  if (known === undefined) throw new Error(`The setting ${name} is not made by setting().`)
  return { name, variable: variableOf(name), ...known }
})

export const NAMES: readonly string[] = TABLE.map((row) => row.name)

/** A value as it may be shown to anybody: no secret, no password. */
export function shown(row: TableRow, value: unknown): string {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return ''
  if (row.secret) return '***'
  if (row.name === 'database_url') return withoutPassword(String(value))
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
