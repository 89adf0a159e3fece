import type { Json, JsonObject } from '../core/json.ts'
import { REPLACEMENT } from './pattern.ts'
import { type Plan, redact, takesNothing } from './redaction.ts'
import type { Redacted } from './ruling.ts'

/** Stands where a content block was of which something was taken out that it cannot be without. */
const REMOVED: JsonObject = { type: 'text', text: REPLACEMENT }

/** A text that no pattern looks at and that a path can still lead to. */
const SKIPPED = ''

/**
 * Redacts what a tool of an MCP server answered (a CallToolResult), so that it stays one. Patterns do not look at the
 * binary data of images, audio and resources; a path that leads to such data removes the block.
 */
export function redactToolResult(plan: Plan, value: Json): Redacted {
  if (takesNothing(plan) || !isObject(value) || !isList(value.content)) return redact(plan, value)
  const { content } = value
  const seen = content.map((block) => visiblePart(block, plan.isBroken))
  const redacted = redact(plan, { ...value, content: seen })
  const { fields, value: kept } = redacted
  if (fields.length === 0) return { value, fields }
  if (!isObject(kept)) return redacted
  const blocks = isList(kept.content)
    ? kept.content.map((block, i) =>
        block === seen[i] ? (content[i] ?? REMOVED) : wholeBlock(content[i], seen[i], block),
      )
    : [REMOVED]
  return { value: { ...sameKinds(value, kept), ...withOrigin(value, kept), content: blocks }, fields }
}

/** What the gate itself says about where the result is from is no part of what is redacted. */
function withOrigin({ _meta: before }: JsonObject, { _meta: after }: JsonObject): JsonObject {
  if (!isObject(before)) return {}
  const own = Object.entries(before).filter(([name]) => name.startsWith('asyncgate/'))
  return own.length === 0 ? {} : { _meta: { ...(isObject(after) && after), ...Object.fromEntries(own) } }
}

/** A block without its type, which is a word of the protocol, and without its binary data. */
function visiblePart(block: Json, isBroken: boolean): Json {
  if (!isObject(block) || typeof block.type !== 'string') return block
  const { resource } = block
  const seen = { ...block, type: SKIPPED }
  if (isBroken) return seen
  if (hasData(block) && isBase64(block.data)) return { ...seen, data: SKIPPED }
  if (isObject(resource) && isBase64(resource.blob)) {
    return { ...seen, resource: { ...resource, blob: SKIPPED } }
  }
  return seen
}

/** The block again with what was hidden of it; another one if it would be no block any more. */
function wholeBlock(block: Json | undefined, seen: Json | undefined, redacted: Json): Json {
  if (!isObject(block) || !isObject(seen) || !isObject(redacted)) return REMOVED
  if (redacted.type !== seen.type) return REMOVED
  const whole = { ...sameKinds(block, redacted), type: block.type ?? REPLACEMENT }
  if (hasData(block)) {
    return redacted.data === seen.data ? { ...whole, data: block.data ?? SKIPPED } : REMOVED
  }
  const [before, shown, after] = [block.resource, seen.resource, redacted.resource]
  if (before === undefined) return whole
  if (!isObject(before) || !isObject(shown) || !isObject(after)) return REMOVED
  if (after.blob !== shown.blob) return REMOVED
  const blob = before.blob === undefined ? {} : { blob: before.blob }
  return { ...whole, resource: { ...sameKinds(before, after), ...blob } }
}

/** Optional members of which each text is a word of the protocol or a format of its own. */
const STRICT: ReadonlySet<string> = new Set(['annotations', 'icons'])

/** What is left of an object, without members that are of another kind than before and so no longer valid. */
function sameKinds(before: JsonObject, after: JsonObject): JsonObject {
  const members = Object.entries(after).flatMap(([name, member]): [string, Json][] => {
    const original = before[name]
    if (original === undefined || member === original) return [[name, member]]
    if (STRICT.has(name)) return []
    if (kindOf(member) === kindOf(original)) return [[name, member]]
    if (name === 'structuredContent') return [[name, {}]]
    return name === 'isError' ? [[name, original]] : []
  })
  return Object.fromEntries(members)
}

function kindOf(value: Json): string {
  return value === null ? 'null' : isList(value) ? 'list' : typeof value
}

function hasData({ type }: JsonObject): boolean {
  return type === 'image' || type === 'audio'
}

/** In one line, or wrapped as in a mail. */
function isBase64(value: Json | undefined): boolean {
  return typeof value === 'string' && /^[A-Za-z0-9+/\r\n]*(?:=[=\r\n]*)?$/.test(value)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}
