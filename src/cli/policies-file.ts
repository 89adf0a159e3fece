import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import type { ServerValues } from '../config/server.ts'
import { Fault } from '../core/errors.ts'
import { type FixedPolicies, NO_POLICIES } from '../gate/policy-copy.ts'
import { readPattern, readRule } from '../gate/policy-shape.ts'
import type { PolicyOptions } from '../gate/stored-policies.ts'
import { BUILT_IN_PATTERNS, isBuiltIn } from '../policy/built-in-patterns.ts'
import type { PatternDraft } from '../policy/pattern.ts'
import type { RuleDraft } from '../policy/rule.ts'
import { CliError, EXIT } from './exit.ts'

type PolicyValues = Pick<ServerValues, 'policies_file' | 'policy_default' | 'upstream_default'>

/** The rules with which a server starts. */
export async function openPolicy(values: PolicyValues): Promise<PolicyOptions> {
  const { policies_file, policy_default, upstream_default } = values
  return {
    defaults: { plain: policy_default, upstream: upstream_default },
    fixed: policies_file === null ? NO_POLICIES : await readPoliciesFile(policies_file),
  }
}

/** The rules and patterns of a file: YAML, of which JSON is a part; a list of rules, or both under their names. */
export async function readPoliciesFile(file: string): Promise<FixedPolicies> {
  const document = parseDocument(readText(file))
  const [error] = document.errors
  if (error !== undefined) throw wrong(file, `is not YAML or JSON: ${error.message.split('\n')[0]}`)
  const content: unknown = document.toJS()
  const lists = isFields(content) ? content : { rules: content }
  const unknown = Object.keys(lists).find((name) => name !== 'rules' && name !== 'patterns')
  if (unknown !== undefined) throw wrong(file, `has ${unknown} beside rules and patterns`)
  const patterns = await patternsOf(file, listOf(file, 'patterns', lists.patterns ?? []))
  const names = new Set([...BUILT_IN_PATTERNS, ...patterns].map(({ name }) => name))
  const rules: RuleDraft[] = []
  for (const [i, item] of listOf(file, 'rules', lists.rules ?? []).entries()) {
    const rule = await checked(file, `rules[${i}]`, item, 'id', async () =>
      readRule(item, (name) => names.has(name)),
    )
    if (rules.some(({ id }) => id === rule.id)) throw wrong(file, `has rule ${rule.id} twice`)
    rules.push(rule)
  }
  return { rules, patterns }
}

async function patternsOf(file: string, items: readonly unknown[]): Promise<PatternDraft[]> {
  const patterns: PatternDraft[] = []
  for (const [i, item] of items.entries()) {
    const pattern = await checked(file, `patterns[${i}]`, item, 'name', () => readPattern(item))
    if (isBuiltIn(pattern.name)) throw wrong(file, `has pattern ${pattern.name}, which is built in`)
    if (patterns.some(({ name }) => name === pattern.name))
      throw wrong(file, `has pattern ${pattern.name} twice`)
    patterns.push(pattern)
  }
  return patterns
}

async function checked<Draft>(
  file: string,
  place: string,
  item: unknown,
  key: string,
  read: () => Promise<Draft>,
): Promise<Draft> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const name = isFields(item) && typeof item[key] === 'string' ? ` (${item[key]})` : ''
    throw wrong(file, `${place}${name} ${error.message}`)
  }
}

function listOf(file: string, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(file, `has ${name} that are no list`)
  return value
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw wrong(file, `cannot be read (${String(code)})`)
  }
}

function wrong(file: string, problem: string): CliError {
  const hint = 'It is a list of rules, or rules and patterns under these names; see docs/policy.md.'
  return new CliError(EXIT.usage, `${file} ${problem}.`.replace(/\.\.$/, '.'), hint)
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
