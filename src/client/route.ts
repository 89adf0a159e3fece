import type { RequestOptions } from './transport.ts'

/** How an operation is called over REST. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** `{name}` is a placeholder for the field of that name. */
  readonly path: string
  /** The kind of caller, which decides how the caller is named. */
  readonly actor: 'agent' | 'worker' | 'anyone'
  /** Whether the request can be repeated when its outcome is unknown. */
  readonly repeatable: boolean
  /** The field of the idempotency key: `idempotency_key` itself, or the list whose items have one. */
  readonly keyed?: string
}

/** Options of every call. */
export type CallOptions = Pick<RequestOptions, 'signal' | 'timeoutMs' | 'retry'>

type Fields = Readonly<Record<string, unknown>>

/** The fields of a call: the input, the caller, and an idempotency key for each task that it creates. */
export function fieldsOf(route: Route, input: object, agent: string | undefined): Fields {
  const fields = route.keyed === undefined ? { ...input } : withKeys(route.keyed, { ...input })
  // The worker_id names a worker.
  return agent === undefined || route.actor === 'worker' ? fields : { agent_id: agent, ...fields }
}

const KEY = 'idempotency_key'

/** Adds missing keys, so that a repeated request creates nothing twice. */
function withKeys(keyed: string, fields: Fields): Fields {
  if (keyed === KEY) return fields[KEY] === undefined ? { ...fields, [KEY]: newKey() } : fields
  const items: unknown = fields[keyed]
  // The server refuses a value that is not a list.
  if (!Array.isArray(items)) return fields
  return { ...fields, [keyed]: items.map((item: unknown) => (isFields(item) ? withKeys(KEY, item) : item)) }
}

/**
 * A random key. The prefix tells the server that no one chose it, so that a key that the task type makes from the payload
 * takes precedence. `crypto.randomUUID` is missing on pages without TLS.
 */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `auto-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** The path with its placeholders filled in, and the remaining fields. */
export function placed({ path }: Route, fields: Fields): { path: string; rest: Fields } {
  const rest: Record<string, unknown> = { ...fields }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    // URL parsers remove segments that consist of dots.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name}: is not an id`)
    return encodeURIComponent(value)
  })
  return { path: filled, rest }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
