import { arrayOf, type SqlType } from './arrays.ts'

type Value = number | boolean | string | null

/** Columns of a set of rows that travels as one array parameter per column. */
export type Shape = Readonly<Record<string, SqlType>>

export type RowOf<S extends Shape> = Readonly<Record<keyof S, Value>>

/** The columns as a list, each with the prefix. */
export function list(shape: Shape, prefix = ''): string {
  return Object.keys(shape)
    .map((column) => prefix + quoted(column))
    .join(', ')
}

/** The rows as a table `x`, made of the parameters from $1 on. */
export function rowsOf(shape: Shape): string {
  const parameters = Object.values(shape).map((type, i) => `$${i + 1}::${type}[]`)
  return `unnest(${parameters.join(', ')}) AS x (${list(shape)})`
}

/** The assignments that give the row its values of `x`, or of another table. */
export function assignments(shape: Shape, from = 'x.'): string {
  return Object.keys(shape)
    .map((column) => `${quoted(column)} = ${from}${quoted(column)}`)
    .join(', ')
}

/** The parameters: one array per column. */
export function parameters<S extends Shape>(shape: S, rows: readonly RowOf<S>[]): Buffer[] {
  return Object.entries(shape).map(([column, type]) =>
    arrayOf(
      type,
      rows.map((row) => row[column] ?? null),
    ),
  )
}

/** `from`, `to` and `by` are words of SQL. */
function quoted(column: string): string {
  return `"${column}"`
}
