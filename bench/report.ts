import { writeFileSync } from 'node:fs'

export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The spread or another detail. */
  readonly note?: string
  readonly target?: { readonly atLeast: number } | { readonly atMost: number }
}

export function meets({ value, target }: Row): boolean {
  if (target === undefined) return true
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost
}

/** Prints each row immediately, so that a long run shows its progress. */
export class Report {
  readonly rows: Row[] = []

  add(row: Row): void {
    this.rows.push(row)
    const target = row.target === undefined ? '' : `target ${targetText(row.target)}`
    const verdict = row.target === undefined ? '' : meets(row) ? 'ok' : 'MISSED'
    console.log(
      `${row.name.padEnd(58)} ${round(row.value).padStart(9)} ${row.unit.padEnd(14)} ${target.padEnd(14)} ${verdict.padEnd(7)} ${row.note ?? ''}`,
    )
  }

  get missed(): Row[] {
    return this.rows.filter((row) => !meets(row))
  }

  write(file: string, suite: string): void {
    writeFileSync(file, `${JSON.stringify({ suite, node: process.version, rows: this.rows }, null, 2)}\n`)
  }
}

function targetText(target: NonNullable<Row['target']>): string {
  return 'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`
}

export function round(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** The range of a measurement over its rounds. */
export function spread(values: readonly number[]): string {
  const rounds = values.length === 1 ? '1 round' : `${values.length} rounds`
  return `(${round(Math.min(...values))} to ${round(Math.max(...values))}, ${rounds})`
}
