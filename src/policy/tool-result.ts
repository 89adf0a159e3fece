import type { Json, JsonObject } from '../core/json/json.ts'
import { isObject } from '../util/guards.ts'
import { REPLACEMENT } from './pattern.ts'
import { type Plan, redact, takesNothing } from './redaction.ts'
import type { Redacted } from './ruling.ts'

/** Replaces a content block that would be invalid without the redacted part. */
const REMOVED: JsonObject = { type: 'text', text: REPLACEMENT }

/** Replaces a text that patterns must not examine; a path can still match it. */
const SKIPPED = ''

/** How to prepare an item of a list for redaction, and to restore it afterwards. */
interface Item {
  visible(item: Json, isBroken: boolean): Json
  whole(item: Json | undefined, seen: Json | undefined, redacted: Json): Json
}

/** The lists in the results of tools, resources and prompts. */
const LISTS: Readonly<Record<string, Item>> = {
  content: { visible: visiblePart, whole: wholeBlock },
  contents: { visible: visibleContents, whole: wholeContents },
  messages: { visible: visibleMessage, whole: wholeMessage },
}

/**
 * Redacts the result of an MCP server (of a tool, resource or prompt) so that it stays valid. Patterns skip binary data
 * of images, audio and resources; a path that leads to such data removes the block.
 */
export function redactToolResult(plan: Plan, value: Json): Redacted {
  if (takesNothing(plan) || !isObject(value)) return redact(plan, value)
  const lists = Object.entries(LISTS).flatMap(([name, item]) => {
    const items = value[name]
    if (!isList(items)) return []
    return [{ name, item, items, seen: items.map((each) => item.visible(each, plan.isBroken)) }]
  })
  if (lists.length === 0) return redact(plan, value)
  const shown = Object.fromEntries(lists.map(({ name, seen }) => [name, seen]))
  const redacted = redact(plan, { ...value, ...shown })
  const { fields, value: rest } = redacted
  if (fields.length === 0) return { value, fields }
  if (!isObject(rest)) return redacted
  const whole = lists.map(({ name, item, items, seen }): [string, Json] => {
    const left = rest[name]
    if (!isList(left)) return [name, [REMOVED]]
    return [
      name,
      left.map((each, i) => (each === seen[i] ? (items[i] ?? REMOVED) : item.whole(items[i], seen[i], each))),
    ]
  })
  const result = { ...sameKinds(value, rest), ...withOrigin(value, rest), ...Object.fromEntries(whole) }
  return { value: result, fields }
}

/** The origin that AsyncGate has added is not redacted. */
function withOrigin({ _meta: before }: JsonObject, { _meta: after }: JsonObject): JsonObject {
  if (!isObject(before)) return {}
  const own = Object.entries(before).filter(([name]) => name.startsWith('asyncgate/'))
  return own.length === 0 ? {} : { _meta: { ...(isObject(after) && after), ...Object.fromEntries(own) } }
}

/** A block without its type and its binary data. */
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

/** Restores the hidden parts of a block; REMOVED if the block would be invalid. */
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

function visibleContents(contents: Json, isBroken: boolean): Json {
  if (isBroken || !isObject(contents) || !isBase64(contents.blob)) return contents
  return { ...contents, blob: SKIPPED }
}

/** Restores the binary data of resource contents, or redacts them completely. */
function wholeContents(contents: Json | undefined, seen: Json | undefined, redacted: Json): Json {
  if (!isObject(contents) || !isObject(seen)) return REMOVED
  const { uri = REPLACEMENT, blob } = contents
  if (!isObject(redacted) || redacted.blob !== seen.blob) return { uri, text: REPLACEMENT }
  return { ...sameKinds(contents, redacted), ...(blob !== undefined && { blob }) }
}

function visibleMessage(message: Json, isBroken: boolean): Json {
  if (!isObject(message) || message.content === undefined) return message
  return { ...message, role: SKIPPED, content: visiblePart(message.content, isBroken) }
}

function wholeMessage(message: Json | undefined, seen: Json | undefined, redacted: Json): Json {
  if (!isObject(message) || !isObject(seen)) return REMOVED
  const { role = 'user', content } = message
  if (!isObject(redacted)) return { role, content: REMOVED }
  const left = redacted.content ?? REMOVED
  const isWhole = left === seen.content && content !== undefined
  return {
    ...sameKinds(message, redacted),
    role,
    content: isWhole ? content : wholeBlock(content, seen.content, left),
  }
}

/** Optional members whose texts have a fixed format. */
const STRICT: ReadonlySet<string> = new Set(['annotations', 'icons'])

/** The redacted members, without those whose type has changed, which would be invalid. */
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

/** In one line, or wrapped. */
function isBase64(value: Json | undefined): boolean {
  return typeof value === 'string' && /^[A-Za-z0-9+/\r\n]*(?:=[=\r\n]*)?$/.test(value)
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}
