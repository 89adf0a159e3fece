import type { Route } from './route.ts'

export type Fields = Readonly<Record<string, unknown>>

/** The fields of a call: the input, who calls, and a key for each task that it creates. */
export function fieldsOf(route: Route, input: object, agent: string | undefined): Fields {
  const fields = route.keyed === undefined ? { ...input } : withKeys(route.keyed, { ...input })
  // A worker is named by the worker_id of its calls.
  return agent === undefined || route.actor === 'worker' ? fields : { agent_id: agent, ...fields }
}

const KEY = 'idempotency_key'

/** A key that is not given is made here, so that a request that is sent again creates nothing twice. */
function withKeys(keyed: string, fields: Fields): Fields {
  if (keyed === KEY) return fields[KEY] === undefined ? { ...fields, [KEY]: newKey() } : fields
  const items: unknown = fields[keyed]
  // What is no list of objects is the server's to refuse.
  if (!Array.isArray(items)) return fields
  return { ...fields, [keyed]: items.map((item: unknown) => (isFields(item) ? withKeys(KEY, item) : item)) }
}

/** Random enough that no two are ever the same. `crypto.randomUUID` is missing on pages without TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The path with its fields filled in, and the fields that are left. */
export function placed({ path }: Route, fields: Fields): { path: string; rest: Fields } {
  const rest: Record<string, unknown> = { ...fields }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    // A URL swallows segments of dots.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name}: is not an id`)
    return encodeURIComponent(value)
  })
  return { path: filled, rest }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
