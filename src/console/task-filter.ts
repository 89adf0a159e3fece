import { textIn } from './fields.ts'

/** The filter of a list, as it stands in the path and as the operations take it. */
export interface TaskFilter {
  readonly status: string | undefined
  readonly type: string | undefined
  readonly created_by: string | undefined
  readonly session_id: string | undefined
}

export function filterIn(fields: URLSearchParams): TaskFilter {
  return {
    status: textIn(fields, 'status'),
    type: textIn(fields, 'type'),
    created_by: textIn(fields, 'created_by'),
    session_id: textIn(fields, 'session_id'),
  }
}

/** Without a filter every task is meant, which the operation wants to be told. */
export function meant(filter: TaskFilter): object {
  return Object.values(filter).every((value) => value === undefined) ? { all: true } : filter
}
