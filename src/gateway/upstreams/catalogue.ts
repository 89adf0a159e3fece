import type { JsonObject } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { UpstreamTool, UpstreamToolView } from '../../features/upstreams/upstreams.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { type Definition, type ReadDefinition, shownDefinition } from './definition.ts'
import type { Pin } from './pins.ts'
import { matchesAny, outwardName } from './tool-name.ts'

export interface CatalogueEntry {
  readonly view: UpstreamToolView
  /** Set if the tool is listed. */
  readonly listed?: { readonly tool: UpstreamTool; readonly definition: Definition }
}

/** The tools of an upstream by their names at the upstream. */
export type Catalogue = ReadonlyMap<string, CatalogueEntry>

type Rules = Pick<UpstreamRecord, 'name' | 'tools' | 'categories'>

/** The catalogue for a list of definitions, given the accepted ones. */
export function catalogueOf(
  rules: Rules,
  list: readonly ReadDefinition[],
  pins: ReadonlyMap<string, Pin>,
): Catalogue {
  const entries = new Map<string, CatalogueEntry>()
  const taken = new Set<string>()
  for (const read of list) {
    const name = 'definition' in read ? read.definition.name : read.name
    const entry = entryOf(rules, read, pins.get(name), taken)
    if (entry.listed !== undefined) taken.add(entry.listed.tool.name)
    entries.set(name, entry)
  }
  for (const [name, pin] of pins) if (!entries.has(name)) entries.set(name, absent(rules, pin))
  return entries
}

/** A known tool that the upstream does not list now. */
function absent(rules: Rules, pin: Pin): CatalogueEntry {
  const { tool, offered } = pin
  const view = viewOf(rules, tool, 'hidden', 'the upstream does not list it now', pin)
  if (offered === null) return { view }
  return { view: viewOf(rules, tool, 'quarantined', reasonOf(pin), pin, offered) }
}

function reasonOf(pin: Pin | undefined): string {
  return pin?.accepted ? 'its definition has changed' : 'its definition was never accepted'
}

function entryOf(
  rules: Rules,
  read: ReadDefinition,
  pin: Pin | undefined,
  taken: ReadonlySet<string>,
): CatalogueEntry {
  if ('unfit' in read) return { view: viewOf(rules, read.name, 'hidden', read.unfit, pin) }
  const { definition, hash } = read
  const { name: tool } = definition
  const { allow, deny } = rules.tools
  const view = (status: UpstreamToolView['status'], reason: string | null) =>
    viewOf(rules, tool, status, reason, pin, read)
  if (matchesAny(tool, deny)) return { view: view('hidden', 'tools.deny of the upstream names it') }
  if (allow !== undefined && !matchesAny(tool, allow))
    return { view: view('hidden', 'tools.allow of the upstream does not name it') }
  const name = outwardName(rules.name, tool)
  if (taken.has(name)) return { view: view('hidden', 'another tool has its name here') }
  if (pin?.accepted?.hash !== hash) return { view: view('quarantined', reasonOf(pin)) }
  const category = categoryOf(rules, tool)
  const shown: UpstreamTool = {
    name,
    upstream: rules.name,
    tool,
    category,
    hash,
    ...shownDefinition(definition),
  }
  return { view: view('listed', null), listed: { tool: shown, definition } }
}

function viewOf(
  rules: Rules,
  tool: string,
  status: UpstreamToolView['status'],
  reason: string | null,
  pin: Pin | undefined,
  read?: { readonly definition: Definition; readonly hash: string },
): UpstreamToolView {
  const accepted = pin?.accepted ?? null
  const isQuarantined = status === 'quarantined'
  return {
    tool,
    name: outwardName(rules.name, tool),
    status,
    reason,
    category: categoryOf(rules, tool),
    description: cleanLine(read?.definition.description ?? '', 500),
    runs_commands: read !== undefined && runsCommands(read.definition),
    hash: read?.hash ?? null,
    accepted_hash: accepted?.hash ?? null,
    accepted_at: accepted === null ? null : isoTime(accepted.at),
    accepted_by: accepted?.by ?? null,
    offered: isQuarantined && read ? { ...read.definition } : null,
    accepted: isQuarantined && accepted !== null ? { ...accepted.definition } : null,
  }
}

export function categoryOf({ categories }: Pick<Rules, 'categories'>, tool: string): string | null {
  return (Object.hasOwn(categories, tool) ? categories[tool] : undefined) ?? null
}

interface Described {
  readonly name: string
  readonly inputSchema: JsonObject
  readonly annotations?: JsonObject
}

/** Words in the names of tools that run commands. */
const WORDS = new Set(
  'shell bash zsh sh cmd powershell pwsh terminal exec execute eval evaluate repl subprocess python'.split(
    ' ',
  ),
)
const VERBS = /^(run|execute|exec|start|spawn)$/
const OBJECTS = /^(command|commands|process|program|code|script|shell|terminal|cell)$/
/** With these words, a tool runs its own queries or tests and not any command. */
const HARMLESS = /^(sql|query|queries|test|tests|workflow|workflows|search)$/

/** Parameters that take a command. */
const PARAMETERS = /^(command|commands|cmd|shell|script|argv)$/i

/** Whether a tool seems to run arbitrary commands. A program with such a tool can read every file of its account. */
export function runsCommands({ name, inputSchema, annotations = {} }: Described): boolean {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
  if (words.some((word) => HARMLESS.test(word))) return takesCommand(inputSchema, annotations)
  if (words.some((word, i) => VERBS.test(word) && OBJECTS.test(words[i + 1] ?? ''))) return true
  return words.some((word) => WORDS.has(word)) || takesCommand(inputSchema, annotations)
}

/** Absent hints have the defaults of MCP: destructive and open world. */
function takesCommand({ properties }: JsonObject, annotations: JsonObject): boolean {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations
  const mayHarm = readOnlyHint !== true && destructiveHint !== false && openWorldHint !== false
  const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties)
  return mayHarm && isObject && Object.keys(properties).some((parameter) => PARAMETERS.test(parameter))
}
