import { archiveTable } from './archive.ts'
import { withoutPassword } from './database.ts'
import { emailTable } from './email.ts'
import { engineTable } from './engine.ts'
import { type About, about } from './kinds.ts'
import { limitsTable } from './limits.ts'
import { oauthTable } from './oauth.ts'
import { oidcTable } from './oidc.ts'
import { receiptgateTable } from './receiptgate.ts'
import { resultsTable } from './results.ts'
import { fileSettingOf } from './secret-files.ts'
import { serverTable } from './server.ts'
import { UNSUPPORTED, variableOf } from './sources.ts'

/** One row of the table of settings. */
export interface TableRow extends About {
  readonly name: string
  readonly variable: string
}

/** Every setting, in the order of the documentation. */
export const TABLE: readonly TableRow[] = Object.entries({
  ...serverTable.shape,
  ...engineTable.shape,
  ...resultsTable.shape,
  ...emailTable.shape,
  ...oauthTable.shape,
  ...oidcTable.shape,
  ...limitsTable.shape,
  ...receiptgateTable.shape,
  ...archiveTable.shape,
}).map(([name, field]) => {
  const known = about.get(field)
  if (known === undefined) throw new Error(`The setting ${name} was not created by a Kind.`)
  return { name, variable: variableOf(name), ...known }
})

export const NAMES: readonly string[] = TABLE.map((row) => row.name)

/** Settings that hold a secret. Each can also be given as a file. */
export const SECRETS: readonly string[] = TABLE.filter(isSecret).map((row) => row.name)

/** The URL of a database contains a password, which is not displayed. */
function isSecret({ name, secret }: TableRow): boolean {
  return secret || name === 'database_url'
}

/** A value without secrets and passwords, for output. */
export function shown(row: TableRow, value: unknown): string {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return ''
  if (row.secret) return '***'
  if (row.name === 'database_url') return withoutPassword(String(value))
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The table of docs/configuration.md. */
export function markdownSettings(): string {
  return markdown(
    ['Variable', 'Value', 'Default', 'Meaning'],
    TABLE.map((row) => [variablesOf(row).map(code).join(' or '), row.format, code(defaultOf(row)), row.doc]),
  )
}

export function markdownUnsupported(): string {
  return markdown(
    ['Not supported yet', 'Feature'],
    Object.entries(UNSUPPORTED).map(([name, feature]) => [`\`${name.toUpperCase()}\``, feature]),
  )
}

/** For the help of a command: each variable with its default and description. */
export function helpSettings(): string {
  return TABLE.map((row) => {
    const fallback = defaultOf(row)
    return `  ${variablesOf(row).join(' or ')}${fallback === '' ? '' : ` (${fallback})`}\n      ${row.doc}`
  }).join('\n')
}

/** The variables by which a setting can be given. */
export function variablesOf(row: TableRow): string[] {
  return isSecret(row) ? [row.variable, variableOf(fileSettingOf(row.name))] : [row.variable]
}

function defaultOf(row: TableRow): string {
  return shown({ ...row, secret: false }, row.fallback)
}

function code(value: string): string {
  return value === '' ? '' : `\`${value}\``
}

function markdown(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n')
}
