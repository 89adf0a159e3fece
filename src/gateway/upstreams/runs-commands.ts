import type { JsonObject } from '../../core/json/json.ts'

interface Described {
  readonly name: string
  readonly inputSchema: JsonObject
  readonly annotations?: JsonObject
}

/** Words in the name of a tool that runs what it is given. */
const WORDS = new Set(
  'shell bash zsh sh cmd powershell pwsh terminal exec execute eval evaluate repl subprocess python'.split(
    ' ',
  ),
)
const VERBS = /^(run|execute|exec|start|spawn)$/
const OBJECTS = /^(command|commands|process|program|code|script|shell|terminal|cell)$/
/** Words after which a tool runs queries or tests of its own, and not any command. */
const HARMLESS = /^(sql|query|queries|test|tests|workflow|workflows|search)$/

/** Parameters that take a command. */
const PARAMETERS = /^(command|commands|cmd|shell|script|argv)$/i

/**
 * Whether a tool seems to run commands or programs of the caller's choice, by its name or by what it says of itself. A
 * program with such a tool can read every file of the account that it runs under.
 */
export function runsCommands({ name, inputSchema, annotations = {} }: Described): boolean {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
  if (words.some((word) => HARMLESS.test(word))) return takesCommand(inputSchema, annotations)
  if (words.some((word, i) => VERBS.test(word) && OBJECTS.test(words[i + 1] ?? ''))) return true
  return words.some((word) => WORDS.has(word)) || takesCommand(inputSchema, annotations)
}

/** Hints that a tool does not give are taken as MCP says: destructive, and in an open world. */
function takesCommand({ properties }: JsonObject, annotations: JsonObject): boolean {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations
  const mayHarm = readOnlyHint !== true && destructiveHint !== false && openWorldHint !== false
  const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties)
  return mayHarm && isObject && Object.keys(properties).some((parameter) => PARAMETERS.test(parameter))
}
