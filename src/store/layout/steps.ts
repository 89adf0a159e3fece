/** A statement that both databases understand. Parameters are `?`. */
export interface Step {
  readonly sql: string
  readonly values: readonly (string | number | null)[]
}

type Rows = readonly unknown[]

/**
 * Work that consists of statements. It yields statements that do not depend on each other, and gets the rows of each. So
 * it runs on a database that answers at once, within one turn of the event loop, and on one that answers later.
 */
export type Work<T> = Generator<readonly Step[], T, readonly Rows[]>

/** Runs work on a database. */
export interface Runner {
  /** It may be begun again, on another connection. */
  read<T>(tenant: number, work: () => Work<T>): Promise<T>
  /** In one transaction. It is rolled back if the work throws. */
  change<T>(tenant: number, work: Work<T>): Promise<T>
}

/** What the work has found is no longer so: its transaction is rolled back. */
export class Outdated extends Error {}

export function* one<Row>(sql: string, ...values: Step['values']): Work<Row[]> {
  const [rows = []] = yield [{ sql, values }]
  return rows as Row[]
}

/** Whether a statement returns rows. */
export function returnsRows(sql: string): boolean {
  return /^\s*SELECT\b|\bRETURNING\b/.test(sql)
}
