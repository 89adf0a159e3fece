import { type Fields, splitIdentity } from '../../auth/caller.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { isObject } from '../../util/guards.ts'

/**
 * Arguments that say who calls, whatever the tool. A property of the tool with such a name is listed under another, so
 * that neither a key can get into a payload nor a payload say who calls.
 */
const TAKEN: ReadonlySet<string> = new Set([
  'auth_token',
  'agent_id',
  'principal_id',
  'principal_kind',
  'principal_instance_id',
])

const AGENT = { type: 'string', description: 'Who you are, under a shared key' } as const

/** The arguments of a tool that is a task. */
export interface ToolArguments {
  /** As clients see them, with how they say who they are. */
  readonly schema: { readonly type: 'object' } & JsonObject
  /** What of a call says who makes it, and the arguments under the names that the tool knows. */
  split(args: Fields): { identity: Fields; rest: Fields }
}

export function toolArguments(schema: JsonObject): ToolArguments {
  const own = isObject(schema.properties) ? schema.properties : {}
  const listed = new Map(Object.keys(own).map((name) => [name, listedName(name, own)]))
  const names = new Map([...listed].map(([name, shown]) => [shown, name]))
  const properties = Object.fromEntries([...listed].map(([name, shown]) => [shown, own[name] ?? {}]))
  const { required } = schema
  return {
    schema: {
      ...schema,
      type: 'object',
      properties: { agent_id: AGENT, ...properties },
      ...(Array.isArray(required) && { required: required.map((name) => listed.get(String(name)) ?? name) }),
    },
    split(args) {
      const { identity, rest } = splitIdentity(args, (name) => name in own && !TAKEN.has(name))
      const isRenamed = Object.keys(rest).some((name) => (names.get(name) ?? name) !== name)
      if (!isRenamed) return { identity, rest }
      const entries = Object.entries(rest).map(([name, value]) => [names.get(name) ?? name, value])
      return { identity, rest: Object.fromEntries(entries) }
    },
  }
}

function listedName(name: string, own: object): string {
  if (!TAKEN.has(name)) return name
  let shown = `arg_${name}`
  while (shown in own) shown = `arg_${shown}`
  return shown
}
