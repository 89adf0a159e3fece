import { z } from 'zod'
import { text } from '../input.ts'

const MIB = 1024 * 1024

/** From the safest to the least safe. */
export const RETRY_MODES = ['never', 'idempotent', 'always'] as const
export const ISOLATIONS = ['shared', 'per_session'] as const

/** Tool names and categories are read by models and printed in tables, so control characters are refused. */
const word = (max: number) => text(max).refine((value) => !/\p{Cc}|\p{Cf}/u.test(value), 'is not plain text')

/** Text that matches a pattern. The public schema omits the pattern, which costs a model tokens and says little. */
export const fitting = (pattern: RegExp, problem: string) =>
  z.string().refine((value) => pattern.test(value), problem)

const name = fitting(
  /^[a-z][a-z0-9-]{0,31}$/,
  'must be 1 to 32 lower-case letters, digits and -, beginning with a letter',
)
  .refine((value) => !value.startsWith('asyncgate'), 'must not begin with asyncgate')
  .describe(
    'Name of the upstream: up to 32 lower-case letters, digits and `-`, beginning with a letter. Its tools are called `NAME__TOOL`',
  )

/** A map. Zod drops a `__proto__` key silently, so it is refused first. */
const mapOf = <Value extends z.ZodType>(key: z.ZodString, value: Value, max: number) =>
  z
    .custom(
      (given) => typeof given !== 'object' || given === null || !Object.hasOwn(given, '__proto__'),
      '__proto__ is not an allowed key',
    )
    .pipe(z.record(key, value))
    .refine((given) => Object.keys(given).length <= max, `has more than ${max} members`)
    .meta({ type: 'object' })

const REFERENCE = /^(?:[A-Za-z][A-Za-z0-9-]{0,31} )?(?:env:[A-Za-z_][A-Za-z0-9_]{0,127}|file:\/.{1,1000})$/

const reference = fitting(
  REFERENCE,
  'is not a reference such as env:NAME, file:/path or Bearer env:NAME; values are not stored',
)

const headerName = fitting(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'is not the name of a header').refine(
  (value) => !/^(mcp-.*|accept|content-type|last-event-id)$/i.test(value),
  'is set by the protocol',
)

const httpTransport = z.strictObject({
  type: z
    .enum(['http'])
    .describe('Streamable HTTP. Programs (stdio) can only be configured in the file of the operator'),
  url: text(2048)
    .refine(isPlainUrl, 'is not an http or https URL without a user name, password or fragment')
    .describe('URL of the MCP server: https, unless the operator allows the host for http'),
  headers: mapOf(headerName, reference, 20)
    .default({})
    .describe(
      'Request headers by name. Each value is a reference: env:NAME or file:/path, optionally after a scheme such as "Bearer "',
    ),
})

const stdioTransport = z.strictObject({
  type: z.enum(['stdio']),
  command: text(4096),
  args: z.array(z.string().max(8192)).max(200).default([]),
  env: mapOf(fitting(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable'), z.string(), 100).default(
    {},
  ),
  cwd: text(4096).optional(),
})

const ms = (max: number, min = 1) => z.int().min(min).max(max)
const HOUR_MS = 3_600_000

/** Settings of an upstream besides its name and transport. */
export const upstreamOptions = {
  enabled: z.boolean().default(true).describe('Whether the gate connects to the upstream'),
  tools: z
    .strictObject({
      allow: z
        .array(word(256))
        .max(1000)
        .optional()
        .describe('Only these tools; `*` matches any text. All tools if absent'),
      deny: z
        .array(word(256))
        .max(1000)
        .default([])
        .describe('None of these tools, even if allow matches them'),
      retry: mapOf(z.string().min(1).max(256), z.enum(RETRY_MODES), 1000)
        .default({})
        .describe('Retry mode by tool; `*` matches any text. If several match, the safest mode is used'),
    })
    .prefault({})
    .describe('Which tools are offered; all if absent'),
  categories: mapOf(z.string().min(1).max(256), word(64), 1000)
    .default({})
    .describe('Category by tool, used by policies'),
  pinned: z
    .enum(['first_use', 'each_tool', 'strict'])
    .default('first_use')
    .describe(
      'Which tool definitions are accepted without an admin: first_use: those of the first list; each_tool: each tool when first seen; strict: none',
    ),
  retry: z
    .enum(RETRY_MODES)
    .default('idempotent')
    .describe(
      'Whether a call that may have reached the tool is repeated: never; idempotent: if the tool declares itself read-only or idempotent; always',
    ),
  timeout_ms: ms(HOUR_MS)
    .default(300_000)
    .describe('Maximum duration of a call once it is sent, and maximum wait for an upstream that is down'),
  connect_timeout_ms: ms(600_000)
    .default(30_000)
    .describe('Maximum duration of connecting and of listing the tools'),
  concurrency: z
    .int()
    .min(1)
    .max(1000)
    .default(8)
    .describe('Maximum number of concurrent calls; others wait'),
  isolation: z
    .enum(ISOLATIONS)
    .default('shared')
    .describe(
      'shared: all sessions use one connection and share the state of the upstream; per_session: each session has its own connection',
    ),
  max_session_connections: z
    .int()
    .min(1)
    .max(1000)
    .default(32)
    .describe('With per_session: maximum number of sessions that have a connection'),
  max_result_bytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .default(8 * MIB)
    .describe('Maximum size of the result of a call in bytes'),
  restart: z
    .strictObject({
      first_ms: ms(HOUR_MS).default(1000).describe('The first delay'),
      max_ms: ms(HOUR_MS).default(60_000).describe('The maximum delay'),
      healthy_ms: ms(HOUR_MS).default(60_000).describe('A connection that lasts this long resets the delay'),
    })
    .prefault({})
    .describe('Delay between attempts to connect; it doubles from first_ms up to max_ms'),
  breaker: z
    .strictObject({
      failures: z
        .int()
        .min(1)
        .max(1000)
        .default(5)
        .describe('Number of consecutive failures that open the breaker'),
      cooldown_ms: ms(HOUR_MS)
        .default(30_000)
        .describe('How long the breaker stays open before it lets one call try'),
    })
    .prefault({})
    .describe('Circuit breaker: after several consecutive failures, calls are refused for a while'),
}

/** What an admin may add: a URL. A program is started only if the operator's file names it. */
export const addUpstreamInput = z.strictObject({
  name,
  transport: httpTransport.describe('How to connect to the upstream'),
  ...upstreamOptions,
})

/** An upstream in the operator's file. */
export const fileUpstream = z.strictObject({
  name,
  transport: z.discriminatedUnion('type', [httpTransport, stdioTransport]),
  ...upstreamOptions,
})

export type RetryMode = (typeof RETRY_MODES)[number]
export type UpstreamDraft = z.output<typeof addUpstreamInput>
export type UpstreamRecord = z.output<typeof fileUpstream>
export type HttpTransportRecord = z.output<typeof httpTransport>
export type StdioTransportRecord = z.output<typeof stdioTransport>

function isPlainUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password, hash } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === '' && hash === ''
}
