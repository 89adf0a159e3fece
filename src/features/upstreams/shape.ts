import { z } from 'zod'
import { DEPENDS_ON, OUTCOMES } from '../../policy/forecast.ts'
import { jsonObject, text } from '../input.ts'

const MIB = 1024 * 1024

const UPSTREAM_STATES = ['disabled', 'connecting', 'ready', 'down'] as const
const BREAKER_STATES = ['closed', 'open', 'half_open'] as const
/** From the most careful to the least. */
export const RETRY_MODES = ['never', 'idempotent', 'always'] as const
export const ISOLATIONS = ['shared', 'per_session'] as const
const TOOL_STATUSES = ['listed', 'quarantined', 'hidden'] as const

/** Tool names and categories are read by models and put into tables. */
const word = (max: number) => text(max).refine((value) => !/\p{Cc}|\p{Cf}/u.test(value), 'is not plain text')

/** A pattern that schemas do not show: models pay for each, and few can read it. */
const fitting = (pattern: RegExp, problem: string) =>
  z.string().refine((value) => pattern.test(value), problem)

const name = fitting(
  /^[a-z][a-z0-9-]{0,31}$/,
  'is 1 to 32 lower-case letters, digits and -, beginning with a letter',
).refine((value) => !value.startsWith('asyncgate'), 'must not begin with asyncgate')

/** A map that Zod does not lose keys of in silence. */
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
  'is not a reference like env:NAME, file:/path or Bearer env:NAME; values are not kept',
)

const headerName = fitting(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'is not the name of a header').refine(
  (value) => !/^(mcp-.*|accept|content-type|last-event-id)$/i.test(value),
  'is set by the protocol',
)

const httpTransport = z.strictObject({
  type: z.enum(['http']),
  url: text(2048).refine(isPlainUrl, 'is not an http or https URL without a user name, password or fragment'),
  headers: mapOf(headerName, reference, 20).default({}).meta({
    description: 'Where the value of each is found: env:NAME or file:/path, "Bearer " before it if needed',
  }),
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

const options = {
  enabled: z.boolean().default(true),
  tools: z
    .strictObject({
      allow: z
        .array(word(256))
        .max(1000)
        .optional()
        .meta({ description: 'Only these; * stands for any text' }),
      deny: z
        .array(word(256))
        .max(1000)
        .default([])
        .meta({ description: 'None of these, whatever allow says' }),
      retry: mapOf(z.string().min(1).max(256), z.enum(RETRY_MODES), 1000).default({}).meta({
        description: 'The retry mode of these; * stands for any text, and the most careful mode wins',
      }),
    })
    .prefault({}),
  categories: mapOf(z.string().min(1).max(256), word(64), 1000)
    .default({})
    .meta({ description: 'The category of a tool, for policies' }),
  pinned: z.enum(['first_use', 'each_tool', 'strict']).default('first_use').meta({
    description:
      'Which definitions need no admin: those of the first list (first_use), each tool as first seen (each_tool), none (strict)',
  }),
  retry: z.enum(RETRY_MODES).default('idempotent').meta({
    description:
      'Whether a call that may have reached the tool is repeated: never, if the tool says that it only reads or is idempotent, or always',
  }),
  timeout_ms: ms(HOUR_MS).default(300_000),
  connect_timeout_ms: ms(600_000).default(30_000),
  concurrency: z.int().min(1).max(1000).default(8),
  isolation: z.enum(ISOLATIONS).default('shared').meta({
    description:
      'Whether all sessions share one connection and what the upstream remembers (shared), or each has its own (per_session)',
  }),
  max_session_connections: z.int().min(1).max(1000).default(32).meta({
    description: 'With per_session: how many sessions may have a connection at once',
  }),
  max_result_bytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .default(8 * MIB),
  restart: z
    .strictObject({
      first_ms: ms(HOUR_MS).default(1000),
      max_ms: ms(HOUR_MS).default(60_000),
      healthy_ms: ms(HOUR_MS).default(60_000),
    })
    .prefault({})
    .meta({
      description: 'Pause before the second try to connect; doubled up to max_ms, reset after healthy_ms',
    }),
  breaker: z
    .strictObject({ failures: z.int().min(1).max(1000).default(5), cooldown_ms: ms(HOUR_MS).default(30_000) })
    .prefault({})
    .meta({ description: 'After so many failures in a row no call is made for a while' }),
}

/** What an admin may add: an address. A program is started only if the operator's file names it. */
export const addUpstreamInput = z.strictObject({ name, transport: httpTransport, ...options })

/** What the operator's file may name. */
export const fileUpstream = z.strictObject({
  name,
  transport: z.discriminatedUnion('type', [httpTransport, stdioTransport]),
  ...options,
})

export type RetryMode = (typeof RETRY_MODES)[number]
export type UpstreamDraft = z.output<typeof addUpstreamInput>
export type UpstreamRecord = z.output<typeof fileUpstream>
export type HttpTransportRecord = z.output<typeof httpTransport>
export type StdioTransportRecord = z.output<typeof stdioTransport>

export const listUpstreamsInput = z.strictObject({})
export const upstreamInput = z.strictObject({ name: text(255) })
export const acceptUpstreamToolInput = z.strictObject({
  name: text(255),
  tool: text(256).meta({ description: 'As the upstream calls it' }),
  hash: fitting(/^[0-9a-f]{64}$/, 'is not a hash as get_upstream shows it').meta({
    description: 'Of the definition to accept, as get_upstream shows it',
  }),
})

const time = z.iso.datetime()

export const upstreamHealthShape = z.object({
  state: z.enum(UPSTREAM_STATES),
  since: time,
  protocol_version: z.string().nullable(),
  server: z.string().nullable().meta({ description: 'What it calls itself' }),
  breaker: z.enum(BREAKER_STATES),
  restarts: z.int(),
  running: z.int().meta({ description: 'Calls under way' }),
  waiting: z.int().meta({ description: 'Calls that wait for their turn' }),
  sessions: z.int().meta({ description: 'Connections that belong to one session each' }),
  listed_at: time.nullable(),
  last_error: z.object({ at: time, code: z.string(), message: z.string() }).nullable(),
})

const { tools, categories, pinned, retry, restart, breaker } = options

export const upstreamShape = z.object({
  name: z.string(),
  source: z.enum(['api', 'file']),
  transport: z.discriminatedUnion('type', [
    z.object({ type: z.literal('http'), url: z.string(), headers: z.record(z.string(), z.string()) }),
    z.object({ type: z.literal('stdio'), command: z.string() }),
  ]),
  enabled: z.boolean(),
  tools,
  categories,
  pinned,
  retry,
  timeout_ms: z.int(),
  connect_timeout_ms: z.int(),
  concurrency: z.int(),
  isolation: z.enum(ISOLATIONS),
  max_session_connections: z.int(),
  max_result_bytes: z.int(),
  restart,
  breaker,
  updated_at: time.nullable(),
  updated_by: z.string().nullable(),
  counts: z.object({ listed: z.int(), quarantined: z.int(), hidden: z.int() }),
  offers: z
    .object({ prompts: z.int(), resources: z.int(), resource_templates: z.int() })
    .meta({ description: 'What it offers besides tools' }),
  health: upstreamHealthShape,
})

export const upstreamToolShape = z.object({
  tool: z.string(),
  name: z.string().meta({ description: 'What clients call it' }),
  status: z.enum(TOOL_STATUSES),
  reason: z.string().nullable().meta({ description: 'Why it is not listed' }),
  category: z.string().nullable(),
  description: z.string(),
  runs_commands: z.boolean().meta({
    description: 'Whether it seems to run commands, and so can read every file of the account it runs under',
  }),
  hash: z.string().nullable().meta({ description: 'Of the definition as it is now' }),
  accepted_hash: z.string().nullable(),
  accepted_at: time.nullable(),
  accepted_by: z.string().nullable(),
  offered: jsonObject.nullable().meta({ description: 'The definition that waits to be accepted' }),
  accepted: jsonObject.nullable().meta({ description: 'The one accepted before, if another is offered' }),
})

export const toolPolicyShape = z.object({
  outcome: z.enum(OUTCOMES).meta({ description: 'What becomes of a call, whoever makes it' }),
  depends_on: z
    .array(z.enum(DEPENDS_ON))
    .readonly()
    .meta({ description: 'What it depends on; empty unless outcome is depends' }),
  rule_id: z
    .string()
    .nullable()
    .meta({ description: 'The rule that decides, or the first that may; null: the default decides' }),
  reason: z.string().meta({ description: 'In words' }),
})

/** An upstream with its tools, each with what the rules make of it. */
export const ruledUpstreamShape = upstreamShape.extend({
  catalogue: z
    .array(
      upstreamToolShape.extend({
        policy: toolPolicyShape.nullable().meta({ description: 'Null for a tool that is hidden' }),
      }),
    )
    .readonly(),
})

export type UpstreamHealth = z.output<typeof upstreamHealthShape>
export type UpstreamView = z.output<typeof upstreamShape>
export type UpstreamToolView = z.output<typeof upstreamToolShape>
export type UpstreamDetail = UpstreamView & { readonly catalogue: readonly UpstreamToolView[] }
export type RuledUpstream = z.output<typeof ruledUpstreamShape>
export type RuledTool = RuledUpstream['catalogue'][number]

function isPlainUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password, hash } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === '' && hash === ''
}
