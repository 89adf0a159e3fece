import type pg from 'pg'
import { run, type Value } from './database.ts'
import { queries } from './queries.ts'

export type Query = keyof typeof queries

export function ask<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: Query,
  values: readonly Value[],
): Promise<Row[]> {
  return run<Row>(client, { name: query, text: queries[query] }, values)
}
