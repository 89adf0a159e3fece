import fc from 'fast-check'
import type { Json } from '../../src/core/json/json.ts'

/** Texts that the patterns card, email and badge match; BADGE is the last of these patterns. */
export const SECRETS = ['4111 1111 1111 1111', 'bob@example.com', 'B123456'] as const
export const BADGE = 'B\\d{6}'

const secret = fc.constantFrom(...SECRETS)
const plain = fc.constantFrom('', 'word', '[REDACTED]', 'B12', '4111')
const words = fc.array(fc.oneof(secret, plain), { maxLength: 3 }).map((all) => all.join(' / '))

/** Values that contain secrets at any depth. */
export const values: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    words,
    fc.integer(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('to', 'card', 'content', 'text', 'amount'), tie('json'), { maxKeys: 3 }),
  ),
})).json

/** Arguments and payloads are objects. */
export const objects = fc.dictionary(fc.constantFrom('to', 'card', 'text', 'list'), values, { maxKeys: 4 })

const scopes = fc.record(
  {
    tool: fc.constantFrom('send', 'read', '*'),
    type: fc.constantFrom('job', 'mcp.tool_call', '*'),
    principal: fc.constantFrom('alice', 'bob'),
  },
  { requiredKeys: [] },
)

const conditions = fc.constantFrom<Json>(
  { '==': [{ var: 'agent' }, 'alice'] },
  { '!': [{ missing: ['args.card'] }] },
  { in: ['example', { var: 'args.to' }] },
  { '==': [1, 2] },
)

const common = { priority: fc.integer({ min: -2, max: 2 }), scope: scopes, condition: conditions }
const requiredKeys = ['action', 'priority', 'scope'] as const

/** Rules that decide, in their input form and without ids. */
export const decidingRules = fc.record(
  { action: fc.constantFrom('ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'), enabled: fc.boolean(), ...common },
  { requiredKeys: [...requiredKeys] },
)

/** Rules that redact by patterns. */
export const redactingRules = fc.record(
  {
    action: fc.constant('REDACT'),
    redact: fc.record({
      targets: fc.constantFrom('args', 'result', 'both'),
      patterns: fc.subarray(['card', 'email', 'badge'], { minLength: 1 }),
    }),
    ...common,
  },
  { requiredKeys: [...requiredKeys, 'redact'] },
)

/** All texts of a value. */
export function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}
