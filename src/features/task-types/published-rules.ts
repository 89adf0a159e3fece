import { hash } from 'node:crypto'
import { canonical } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import type { PublicationTable } from '../workers/publications.ts'
import type { PublishedType } from './published-types.ts'
import { isObjectSchema, OWN_NAMES, type TaskTypeView } from './shape.ts'
import { TaskTypeRule } from './task-type-rule.ts'
import { optionsOf } from './type-options.ts'

const MAX_TOOL_NAME = 64

/** One publication of one type. */
interface Version {
  readonly published: PublishedType
  readonly worker_id: string
  readonly at: number
  readonly since: number
}

/** Whether, and under which names, published types are tools. */
export interface ToolNaming {
  readonly enabled: boolean
  /** The names that published types cannot have. */
  readonly taken: ReadonlySet<string>
}

/**
 * The types that workers publish, sorted by name. Where workers publish different versions, the one that was published last
 * counts, on every server. A type is a tool unless all of its publishers exclude it, so that no worker can hide the tool of
 * another one. `known` has earlier rules: an unchanged rule stays the same object.
 */
export function publishedRules(
  table: PublicationTable,
  tools: ToolNaming,
  known: ReadonlyMap<string, TaskTypeRule>,
): ReadonlyMap<string, TaskTypeRule> {
  const versions = versionsByType(table)
  const names = tools.enabled ? toolNames(versions, tools.taken) : new Map<string, string>()
  const rules = new Map<string, TaskTypeRule>()
  for (const type of [...versions.keys()].sort()) {
    const all = versions.get(type) ?? []
    const [newest] = all
    if (newest === undefined) continue
    rules.set(type, ruleOf(newest, all, names.get(type), known.get(type)))
  }
  return rules
}

function ruleOf(
  newest: Version,
  all: readonly Version[],
  name: string | undefined,
  before: TaskTypeRule | undefined,
): TaskTypeRule {
  const { published } = newest
  const digest = digestsOf(published).all
  const same = all.filter((version) => digestsOf(version.published).all === digest)
  const since = isoTime(Math.min(...all.map((version) => version.since)))
  const at = isoTime(Math.min(...same.map((version) => version.at)))
  const publishers = all.map((version) => [version.worker_id, digestsOf(version.published).schemas] as const)
  const text = JSON.stringify([digest, publishers, since, at, name])
  if (before?.text === text) return before
  const view = viewOf(published, since, at, name)
  const isSameView = before !== undefined && JSON.stringify(before.view) === JSON.stringify(view)
  // Further workers that publish the same do not change the view, which clients would be notified of.
  return new TaskTypeRule(text, isSameView ? before.view : view, 'worker', publishers)
}

/** The versions of each type, the newest first. */
function versionsByType({ publications, sets }: PublicationTable): Map<string, Version[]> {
  const versions = new Map<string, Version[]>()
  for (const { worker_id, set, at, since } of publications.values()) {
    const beginnings = new Map(since)
    for (const published of sets.get(set)?.types ?? []) {
      const all = versions.get(published.type) ?? []
      versions.set(published.type, all)
      all.push({ published, worker_id, at, since: beginnings.get(published.type) ?? at })
    }
  }
  for (const all of versions.values()) {
    all.sort((a, b) => b.at - a.at || (a.worker_id < b.worker_id ? -1 : 1))
  }
  return versions
}

interface Digests {
  readonly all: string
  /** Publishers with different schemas are in conflict. */
  readonly schemas: string
}

/** Workers with the same set share its types, so each is hashed once. */
const digests = new WeakMap<PublishedType, Digests>()

function digestsOf(published: PublishedType): Digests {
  const known = digests.get(published)
  if (known !== undefined) return known
  const { input_schema, output_schema } = published
  const made = {
    all: hash('sha256', canonical(published)),
    schemas: hash('sha256', canonical([input_schema, output_schema])).slice(0, 16),
  }
  digests.set(published, made)
  return made
}

/** A name in use stays with the type that was published first; later ones get a suffix. */
function toolNames(
  versions: ReadonlyMap<string, readonly Version[]>,
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const tools = [...versions].flatMap(([type, all]) => {
    const [newest] = all
    if (newest === undefined || !isObjectSchema(newest.published.input_schema)) return []
    if (all.every(({ published }) => published.tool === false)) return []
    return { type, wanted: wantedName(newest.published), since: Math.min(...all.map(({ since }) => since)) }
  })
  tools.sort((a, b) => a.since - b.since || (a.type < b.type ? -1 : 1))
  const used = new Set(taken)
  const names = new Map<string, string>()
  for (const { type, wanted } of tools) {
    const name = used.has(wanted) ? withSuffix(wanted, type) : wanted
    if (used.has(name)) continue
    used.add(name)
    names.set(type, name)
  }
  return names
}

function wantedName({ type, tool }: PublishedType): string {
  const given = typeof tool === 'object' && tool?.name !== undefined ? tool.name : type
  // Two underscores separate an upstream from its tool.
  const name = given.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^_+|_+$/g, '')
  if (name === '' || OWN_NAMES.test(name)) return withSuffix('task', type)
  return name.length > MAX_TOOL_NAME ? withSuffix(name, type) : name
}

function withSuffix(name: string, type: string): string {
  const suffix = `_${hash('sha256', type).slice(0, 8)}`
  return name.slice(0, MAX_TOOL_NAME - suffix.length) + suffix
}

function viewOf(
  { type, description, input_schema, output_schema, tool, options }: PublishedType,
  created_at: string,
  updated_at: string,
  name: string | undefined,
): TaskTypeView {
  return {
    type,
    description,
    payload_schema: input_schema,
    output_schema,
    ...optionsOf(options ?? {}),
    escalation_class: null,
    webhook_url: null,
    result_channel: null,
    estimated_runtime_seconds: null,
    poll_suggestion_seconds: null,
    max_payload_bytes: null,
    enabled: true,
    tool: name === undefined ? null : { ...(typeof tool === 'object' && tool), name },
    milestones: null,
    version: 0,
    created_at,
    updated_at,
  }
}
