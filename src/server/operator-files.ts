import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { type Caller, DEFAULT_TENANT, OPERATOR } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import type { FixedPolicies } from '../features/policies/copy.ts'
import { readPattern, readRule } from '../features/policies/shape.ts'
import { Schemas } from '../features/task-types/schemas.ts'
import { readTaskType } from '../features/task-types/shape.ts'
import { fileUpstream, type UpstreamRecord } from '../features/upstreams/shape.ts'
import { BUILT_IN_PATTERNS, isBuiltIn } from '../policy/built-in-patterns.ts'
import { isObject } from '../util/guards.ts'
import { OperatorError } from './operator-error.ts'

type Fields = Readonly<Record<string, unknown>>

/** A file that the operator names in a setting: YAML, of which JSON is a subset. */
class OperatorFile {
  readonly content: unknown
  readonly #path: string
  readonly #hint: string

  /** `hint` describes the expected content and names the page of the documentation. */
  constructor(path: string, hint: string) {
    this.#path = path
    this.#hint = hint
    const document = parseDocument(this.#text())
    const [error] = document.errors
    if (error !== undefined) throw this.wrong(`is not YAML or JSON: ${error.message.split('\n')[0]}`)
    this.content = document.toJS()
  }

  wrong(problem: string): OperatorError {
    return new OperatorError('invalid', `${this.#path} ${problem}.`.replace(/\.\.$/, '.'), this.#hint)
  }

  /** The items of a list, each with its position in the file. No two items have the same `key`. */
  items(list: unknown, { noun, key, scopeOf = () => null, path = '' }: ListOptions): readonly FileItem[] {
    if (!Array.isArray(list))
      throw this.wrong(path === '' ? `is not a list of ${noun}s` : `has ${path} that are not a list`)
    const seen = new Set<string>()
    return list.map((value: unknown, i) => {
      const name = isObject(value) ? value[key] : undefined
      if (!isObject(value) || typeof name !== 'string') return { value, position: `${path}[${i}]` }
      const place = JSON.stringify([scopeOf(value), name])
      if (seen.has(place)) throw this.wrong(`has ${noun} ${name} twice`)
      seen.add(place)
      return { value, position: `${path}[${i}] (${name})` }
    })
  }

  /** Runs a check of an item, and names the item and the file if the check fails. */
  async checked<T>({ position }: FileItem, check: () => T | Promise<T>): Promise<T> {
    try {
      return await check()
    } catch (error) {
      throw error instanceof Fault ? this.wrong(`${position} ${error.message}`) : error
    }
  }

  #text(): string {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      throw this.wrong(`cannot be read (${String(code)})`)
    }
  }
}

interface ListOptions {
  readonly noun: string
  /** The field that identifies an item. */
  readonly key: string
  /** What distinguishes items with the same key. */
  readonly scopeOf?: (item: Fields) => unknown
  /** Where the list is, if it is not the whole file. */
  readonly path?: string
}

interface FileItem {
  readonly value: unknown
  readonly position: string
}

const POLICIES_HINT = 'It is a list of rules, or an object with rules and patterns; see docs/policy.md.'

const RULES: ListOptions = { noun: 'rule', key: 'id', path: 'rules' }
const PATTERNS: ListOptions = { noun: 'pattern', key: 'name', path: 'patterns' }

/** The rules and patterns of POLICIES_FILE. */
export async function readPoliciesFile(path: string): Promise<FixedPolicies> {
  const file = new OperatorFile(path, POLICIES_HINT)
  const lists: Fields = isObject(file.content) ? file.content : { rules: file.content }
  const unknown = Object.keys(lists).find((name) => name !== 'rules' && name !== 'patterns')
  if (unknown !== undefined) throw file.wrong(`has ${unknown} beside rules and patterns`)
  const patterns: FixedPolicies['patterns'][number][] = []
  for (const item of file.items(lists.patterns ?? [], PATTERNS)) {
    const pattern = await file.checked(item, () => readPattern(item.value))
    if (isBuiltIn(pattern.name)) throw file.wrong(`has pattern ${pattern.name}, which is built in`)
    patterns.push(pattern)
  }
  const names = new Set([...BUILT_IN_PATTERNS, ...patterns].map(({ name }) => name))
  const rules: FixedPolicies['rules'][number][] = []
  for (const item of file.items(lists.rules ?? [], RULES))
    rules.push(await file.checked(item, () => readRule(item.value, (name) => names.has(name))))
  return { rules, patterns }
}

const TYPES_HINT = 'It is a list of task types, each with a type; see docs/task-types.md.'

/** The task types of TASK_TYPES_FILE, checked. */
export async function readTypesFile(path: string): Promise<readonly Fields[]> {
  const file = new OperatorFile(path, TYPES_HINT)
  const items = file.items(file.content, { noun: 'task type', key: 'type' })
  const types: Fields[] = []
  const schemas = new Schemas()
  try {
    for (const item of items) {
      const { value, position } = item
      if (!isObject(value)) throw file.wrong(`${position} is not a task type`)
      await file.checked(item, () => readTaskType(schemas, value))
      types.push(value)
    }
    return types
  } finally {
    await schemas.close()
  }
}

/** Starting a server implies the right to register its task types. */
const OPERATOR_CALLER: Caller = { tenant: DEFAULT_TENANT, principal: OPERATOR, role: 'admin' }

export async function registerTypes(gate: Gate, types: readonly Fields[]): Promise<void> {
  for (const type of types) await gate.registerTaskType(OPERATOR_CALLER, type)
}

const UPSTREAMS_HINT = 'It is a list of upstreams, each with a name and a transport; see docs/gateway.md.'

/** An upstream of the operator's file. */
export interface FileUpstream {
  readonly tenant: string
  readonly record: UpstreamRecord
}

const tenantField = z.string().min(1).default(DEFAULT_TENANT)

/** The upstreams of UPSTREAMS_FILE. */
export function readUpstreamsFile(path: string): readonly FileUpstream[] {
  const file = new OperatorFile(path, UPSTREAMS_HINT)
  const scopeOf = ({ tenant = DEFAULT_TENANT }: Fields) => tenant
  const items = file.items(file.content, { noun: 'upstream', key: 'name', scopeOf })
  return items.map(({ value }, i) => {
    const parsed = fileUpstream.extend({ tenant: tenantField }).safeParse(value)
    if (parsed.success) {
      const { tenant, ...record } = parsed.data
      return { tenant, record }
    }
    const [issue] = parsed.error.issues
    throw file.wrong(`[${i}]${['', ...(issue?.path ?? [])].join('.')} ${issue?.message}`)
  })
}
