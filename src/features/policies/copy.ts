import { BUILT_IN_PATTERNS, compileBuiltIns } from '../../policy/built-in-patterns.ts'
import { CompiledRule } from '../../policy/compiled-rule.ts'
import {
  type CompilePattern,
  type Pattern,
  type PatternDraft,
  patternCompiler,
} from '../../policy/pattern.ts'
import type { RuleDraft } from '../../policy/rule.ts'
import { RuleBook } from '../../policy/rule-book.ts'
import type { Defaults } from '../../policy/ruling.ts'
import type { Item } from '../collection.ts'
import type { PatternView, PolicyView } from './shape.ts'

/** The rules and patterns of the operator's file. They apply to every tenant and override stored ones of the same name. */
export interface FixedPolicies {
  readonly rules: readonly RuleDraft[]
  readonly patterns: readonly PatternDraft[]
}

export const NO_POLICIES: FixedPolicies = { rules: [], patterns: [] }

interface RuleEntry {
  /** The source text: an entry with the same text need not be compiled again. */
  readonly text: string
  readonly view: PolicyView
  readonly compiled: CompiledRule
}

interface PatternEntry {
  readonly text: string
  readonly view: PatternView
  /** Null if it is disabled and matches nothing; undefined if it cannot be compiled. */
  readonly compiled: Pattern | null | undefined
}

/** The compiled rules and patterns of a tenant. */
export interface PolicyCopy {
  readonly rules: ReadonlyMap<string, RuleEntry>
  readonly patterns: ReadonlyMap<string, PatternEntry>
  readonly book: RuleBook
}

export interface CopyParts {
  readonly fixed: FixedPolicies
  readonly defaults: Defaults
  readonly now: () => number
}

/** The stored form. The version is that of the entry. */
export type Stored<Draft> = Draft & { readonly updated_at: string; readonly updated_by: string }

/** Compiles entries that are new or changed. Returns the same copy as before if there are none. */
export async function copyOf(
  parts: CopyParts,
  storedRules: readonly Item<Stored<RuleDraft>>[],
  storedPatterns: readonly Item<Stored<PatternDraft>>[],
  before: PolicyCopy | undefined,
): Promise<PolicyCopy> {
  const views = [...fixedRules(parts.fixed), ...storedRules.map(ruleView)]
  const rules = new Map<string, RuleEntry>()
  for (const view of views) {
    if (rules.has(view.id)) continue
    const text = JSON.stringify(view)
    const known = before?.rules.get(view.id)
    rules.set(view.id, known?.text === text ? known : { text, view, compiled: new CompiledRule(view) })
  }
  const patterns = await patternsOf(
    [...fixedPatterns(parts.fixed), ...storedPatterns.map(patternView)],
    rules,
    before,
  )
  if (before !== undefined && isSame(rules, before.rules) && isSame(patterns, before.patterns)) return before
  const book = new RuleBook({
    rules: [...rules.values()].map(({ compiled }) => compiled),
    patterns: compiledPatterns(patterns),
    defaults: parts.defaults,
    now: parts.now,
  })
  return { rules, patterns, book }
}

export function compiledPatterns(patterns: PolicyCopy['patterns']): ReadonlyMap<string, Pattern | null> {
  const found = new Map<string, Pattern | null>()
  for (const [name, { compiled }] of patterns) if (compiled !== undefined) found.set(name, compiled)
  return found
}

/** Loads the regular expression library only if a rule names a pattern. */
async function patternsOf(
  views: readonly PatternView[],
  rules: ReadonlyMap<string, RuleEntry>,
  before: PolicyCopy | undefined,
): Promise<ReadonlyMap<string, PatternEntry>> {
  const isUsed = [...rules.values()].some(({ view }) => (view.redact?.patterns.length ?? 0) > 0)
  const compile = isUsed ? await patternCompiler() : undefined
  const builtIn = compile && builtIns(compile)
  const patterns = new Map<string, PatternEntry>()
  for (const view of [...builtInViews, ...views]) {
    if (patterns.has(view.name)) continue
    const text = `${isUsed} ${JSON.stringify(view)}`
    const known = before?.patterns.get(view.name)
    const compiled = () => builtIn?.get(view.name) ?? compiledOrNot(compile, view)
    patterns.set(view.name, known?.text === text ? known : { text, view, compiled: compiled() })
  }
  return patterns
}

function compiledOrNot(compile: CompilePattern | undefined, view: PatternView): Pattern | null | undefined {
  if (compile === undefined) return undefined
  if (!view.enabled) return null
  try {
    return compile(view)
  } catch {
    // Patterns are checked when they are written, so this is unexpected. Rules that name this one fail, and so block.
    return undefined
  }
}

let compiledBuiltIns: ReadonlyMap<string, Pattern> | undefined

function builtIns(compile: CompilePattern): ReadonlyMap<string, Pattern> {
  compiledBuiltIns ??= new Map(compileBuiltIns(compile).map((pattern) => [pattern.name, pattern]))
  return compiledBuiltIns
}

const NOT_STORED = { version: null, updated_at: null, updated_by: null }

const builtInViews: readonly PatternView[] = BUILT_IN_PATTERNS.map((draft) => ({
  ...draft,
  source: 'built_in',
  ...NOT_STORED,
}))

function fixedRules({ rules }: FixedPolicies): PolicyView[] {
  return rules.map((draft) => ({ ...draft, source: 'file', ...NOT_STORED }))
}

function fixedPatterns({ patterns }: FixedPolicies): PatternView[] {
  return patterns.map((draft) => ({ ...draft, source: 'file', ...NOT_STORED }))
}

export function ruleView({ value, version }: Item<Stored<RuleDraft>>): PolicyView {
  // Rules of earlier versions have no approve_by.
  const { updated_at, updated_by, approve_by = null, ...draft } = value
  return { ...draft, approve_by, source: 'api', version, updated_at, updated_by }
}

export function patternView({ value, version }: Item<Stored<PatternDraft>>): PatternView {
  const { updated_at, updated_by, ...draft } = value
  return { ...draft, source: 'api', version, updated_at, updated_by }
}

function isSame<Value>(some: ReadonlyMap<string, Value>, others: ReadonlyMap<string, Value>): boolean {
  return some.size === others.size && [...some].every(([name, value]) => others.get(name) === value)
}
