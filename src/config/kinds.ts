import { z } from 'zod'
import { isPrincipalKind, type PrincipalKey } from '../core/principal.ts'
import { TOOL_SETS, toolSetNamed } from '../core/tool-sets.ts'

/** The description of a setting. */
export interface About {
  /** The format of a value. */
  readonly format: string
  readonly doc: string
  /** The default; or, as text, how it is determined. */
  readonly fallback: unknown
  readonly secret: boolean
}

export const about = z.registry<About>()

/** A type of setting. Values are text in the environment and in flags; in the file also numbers, booleans and lists. */
export class Kind<T> {
  /** Completes the message "is not ...". */
  readonly format: string
  /** Undefined if the value does not have this format. */
  readonly read: (value: unknown) => T | undefined

  constructor(format: string, read: (value: unknown) => T | undefined) {
    this.format = format
    this.read = read
  }

  /** A setting with a default, which `shown` replaces in documents. */
  default(fallback: T, doc: string, shown: unknown = fallback) {
    return this.#setting(fallback, { doc, fallback: shown, secret: false })
  }

  /** A setting that is null by default. */
  optional(doc: string) {
    return this.#setting(null, { doc, fallback: null, secret: false })
  }

  /** An optional setting whose value is never displayed. */
  secret(doc: string) {
    return this.#setting(null, { doc, fallback: null, secret: true })
  }

  #setting<Fallback>(fallback: Fallback, description: Omit<About, 'format'>) {
    return z
      .unknown()
      .transform((value, context): T | Fallback => {
        if (value === undefined) return fallback
        const read = this.read(value)
        if (read !== undefined) return read
        context.addIssue(`is not ${this.format}`)
        return z.NEVER
      })
      .register(about, { format: this.format, ...description })
  }
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Kind<number> {
  return new Kind(
    max === Number.MAX_SAFE_INTEGER
      ? `a whole number, at least ${min}`
      : `a whole number from ${min} to ${max}`,
    (value) => {
      const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value.trim()) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isInteger(number)) return undefined
      return number >= min && number <= max ? number : undefined
    },
  )
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false,
}

export const boolean = new Kind<boolean>(
  'true or false',
  (value) => BOOLEANS[String(value).trim().toLowerCase()],
)

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): Kind<Choice> {
  return new Kind(listed(choices), (value) =>
    choices.find((choice) => choice === String(value).trim().toLowerCase()),
  )
}

const ACTIONS = ['ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'] as const

/** The default action where no rule applies. */
export const action = new Kind<(typeof ACTIONS)[number]>(listed(ACTIONS), (value) =>
  ACTIONS.find((choice) => choice === String(value).trim().toUpperCase()),
)

export const text = new Kind<string>('text, in quotes if it looks like a number', (value) =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined,
)

/** Host names as in a Host header, without port. */
export const hosts = list('host names, separated by commas', (item) => {
  const url = `http://${item}`
  return URL.canParse(url) && !/[/@]/.test(item) ? new URL(url).hostname : undefined
})

/** Destination ports. */
export const ports = new Kind<readonly number[] | 'any'>(
  'port numbers, separated by commas, or any',
  (value) => {
    if (String(value).trim().toLowerCase() === 'any') return 'any'
    const port = integer(1, 65_535)
    const items: unknown[] = Array.isArray(value) ? value : String(value).split(',')
    const found = items.map((item) => port.read(item))
    return found.every((item) => item !== undefined) ? found : undefined
  },
)

/** Private hosts and networks. The server checks them when it starts. */
export const places = list(
  'host names, addresses or networks like 10.1.0.0/16, separated by commas',
  (item) => (/^[\w.:-]+(\/\d{1,3})?$/.test(item) ? item : undefined),
)

const commandsShape = z.record(
  z.string(),
  z.union([z.string(), z.array(z.unknown().transform(String)).readonly()]),
)

export type Commands = Readonly<z.output<typeof commandsShape>>

export const commands = new Kind<Commands>(
  'a JSON object of commands by name, like {"count": "/usr/bin/wc -w"}',
  (value) => commandsShape.safeParse(typeof value === 'string' ? fromJson(value) : value).data,
)

export const httpUrl = new Kind<string>(
  'a URL like https://files.example/results, without a password, query or fragment',
  (value) => {
    const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
    const isPlain = url !== undefined && url.username + url.password + url.search + url.hash === ''
    return isPlain && /^https?:$/.test(url.protocol) ? url.href : undefined
  },
)

const MIN_KEY_LENGTH = 16

/** One key per name. */
export const keys = new Kind<Readonly<Record<string, string>>>(
  `NAME=KEY, separated by commas; a key has at least ${MIN_KEY_LENGTH} characters, and no two are the same`,
  (value) => {
    if (typeof value !== 'string') return undefined
    const items = value.split(',').map((item) => /^\s*([\w.@-]{1,64})=(\S+)\s*$/.exec(item))
    const entries = items.map((found) => [found?.[1] ?? '', found?.[2] ?? ''] as const)
    const isLongEnough = entries.every(([, key]) => key.length >= MIN_KEY_LENGTH)
    const isDistinct = [0, 1].every(
      (part) => new Set(entries.map((entry) => entry[part])).size === entries.length,
    )
    return isLongEnough && isDistinct ? Object.fromEntries(entries) : undefined
  },
)

/** Sources that secrets may be read from. */
export const references = list('env:NAME, file:/path or file:/folder/, separated by commas', (item) =>
  /^(env:[A-Za-z_]\w*|file:\/.*)$/.test(item) ? item : undefined,
)

/** Origins as browsers send them. */
export const origins = list('origins like https://app.example, separated by commas', (item) =>
  /^https?:\/\//i.test(item) && URL.canParse(item) ? new URL(item).origin : undefined,
)

/** Groups of MCP tools. */
export const toolSets = list(`${TOOL_SETS.join(', ')}, separated by commas`, toolSetNamed)

export function list<Item extends string>(
  format: string,
  readItem: (item: string) => Item | undefined,
): Kind<readonly Item[]> {
  return new Kind(format, (value) => {
    const items: unknown[] = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
    const given = items.map((item) => String(item).trim()).filter((item) => item !== '')
    const found = given.map(readItem)
    return found.length > 0 && found.every((item) => item !== undefined) ? found : undefined
  })
}

/** The levels of pino, and their names in Python. */
const LEVELS = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  critical: 'fatal',
  fatal: 'fatal',
  silent: 'silent',
} as const

export type LogLevel = (typeof LEVELS)[keyof typeof LEVELS]

const isLevel = (name: string): name is keyof typeof LEVELS => Object.hasOwn(LEVELS, name)

export const logLevel = new Kind<LogLevel>(listed([...new Set(Object.values(LEVELS))]), (value) => {
  const name = String(value).trim().toLowerCase()
  return isLevel(name) ? LEVELS[name] : undefined
})

export const principal = new Kind<PrincipalKey>('kind:id, as in agent:ops', (value) =>
  typeof value === 'string' ? principalFrom(value.trim()) : undefined,
)

function principalFrom(name: string): PrincipalKey | undefined {
  const [, kind = '', id = ''] = /^([a-z]+):(.+)$/.exec(name) ?? []
  return isPrincipalKind(kind) && id !== '' ? `${kind}:${id}` : undefined
}

export interface Target {
  readonly class: number
  readonly to: PrincipalKey
}

export const targets = new Kind<readonly Target[]>(
  'a JSON list like [{"class": 1, "to_kind": "agent", "to_id": "ops"}], all within their own tenant',
  (value) => {
    const list = typeof value === 'string' ? fromJson(value) : value
    if (!Array.isArray(list)) return undefined
    const found = list.map(targetFrom)
    return found.every((target) => target !== undefined) ? found : undefined
  },
)

/** A target in another tenant would disclose tasks across tenants, so tenant_id is refused. */
function targetFrom(value: unknown): Target | undefined {
  if (typeof value !== 'object' || value === null || 'tenant_id' in value) return undefined
  if (!('class' in value && 'to_kind' in value && 'to_id' in value)) return undefined
  const to = principalFrom(`${value.to_kind}:${value.to_id}`)
  return typeof value.class === 'number' && to !== undefined ? { class: value.class, to } : undefined
}

function fromJson(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch {
    return undefined
  }
}

function listed(choices: readonly string[]): string {
  return `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
}
