import type { RequestOptions } from './transport.ts'

/** How an operation is called over REST. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** `{name}` stands for the field of that name. */
  readonly path: string
  /** Whose call it is: it decides how the caller is named. */
  readonly actor: 'agent' | 'worker' | 'anyone'
  /** Whether it does no harm to send it again when nobody knows what became of it. */
  readonly repeatable: boolean
  /** Where an idempotency key goes: `idempotency_key` itself, or the list whose items have one. */
  readonly keyed?: string
}

/** Options of every call. */
export type CallOptions = Pick<RequestOptions, 'signal' | 'timeoutMs' | 'retry'>
