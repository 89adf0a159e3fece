import { shown, TABLE, type TableRow } from './rows.ts'
import { UNSUPPORTED } from './sources.ts'

/** The table as Markdown, as it stands in docs/configuration.md. */
export function markdownSettings(): string {
  return markdown(
    ['Variable', 'Value', 'Default', 'Meaning'],
    TABLE.map((row) => [`\`${row.variable}\``, row.form, code(defaultOf(row)), row.doc]),
  )
}

export function markdownUnsupported(): string {
  return markdown(
    ['Not supported yet', 'Feature'],
    Object.entries(UNSUPPORTED).map(([name, feature]) => [`\`${name.toUpperCase()}\``, feature]),
  )
}

/** For the help of a command: each variable with its default and meaning. */
export function helpSettings(): string {
  return TABLE.map((row) => {
    const fallback = defaultOf(row)
    return `  ${row.variable}${fallback === '' ? '' : ` (${fallback})`}\n      ${row.doc}`
  }).join('\n')
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
