import { z } from 'zod'

export const REPLACEMENT = '[REDACTED]'

/** The maximum size of the automaton, which bounds the cost per character. */
const MAX_PROGRAM = 500

export const patternName = fitting(
  /^[a-z][a-z0-9_-]{0,63}$/,
  'is 1 to 64 lower-case letters, digits, _ and -, beginning with a letter',
)

export const writtenPattern = z.strictObject({
  name: patternName.describe('Name of the pattern, used in rules: lower-case letters, digits, `_` and `-`'),
  pattern: z.string().min(1).max(1000).describe('A regular expression in the syntax of RE2'),
  replacement: text(64).optional().describe(`Replaces each match; ${REPLACEMENT} if absent`),
  enabled: z.boolean().optional().describe('Whether the pattern matches anything; true if absent'),
  description: line(1000).optional().describe('What the pattern matches, for people'),
})

export const patternRecord = z.object({
  name: z.string().describe('Name of the pattern, used in rules'),
  pattern: z.string().describe('A regular expression in the syntax of RE2'),
  replacement: z.string().describe('Replaces each match'),
  enabled: z.boolean().describe('Whether the pattern matches anything'),
  description: z.string().nullable().describe('What the pattern matches, for people'),
})

export type PatternDraft = z.output<typeof patternRecord>

export function patternOf(asked: z.output<typeof writtenPattern>): PatternDraft {
  return {
    name: asked.name,
    pattern: asked.pattern,
    replacement: asked.replacement ?? REPLACEMENT,
    enabled: asked.enabled ?? true,
    description: asked.description ?? null,
  }
}

export interface Pattern {
  readonly name: string
  /** The cost per character, relative to a small pattern. */
  readonly weight: number
  replace(text: string): string
}

/** Says why a pattern is invalid. */
export class PatternError extends Error {}

type Accepts = (found: string) => boolean

/** The library is loaded when the first pattern is compiled. */
export type CompilePattern = (draft: PatternDraft, accepts?: Accepts) => Pattern

export async function patternCompiler(): Promise<CompilePattern> {
  const { RE2JS, RE2JSException } = await import('re2js')
  return (draft, accepts = () => true) => {
    const { name, replacement } = draft
    try {
      const compiled = RE2JS.compile(draft.pattern)
      const size = compiled.programSize()
      if (size > MAX_PROGRAM) {
        throw new PatternError('is too large a pattern: repeat less often, or split it into two')
      }
      if (compiled.matcher('').find()) throw new PatternError('matches the empty text')
      const replace = (text: string) => replaceAll(compiled.matcher(text), text, replacement, accepts)
      return { name, weight: weightOf(size), replace }
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error
      const hint = 'There are no look-arounds and no back-references; write it as RE2 has it'
      throw new PatternError(`is not a pattern: ${error.message}. ${hint}`)
    }
  }
}

/** Large patterns fall back to slower algorithms, so their cost grows faster than their size. */
function weightOf(size: number): number {
  return Math.max(1, (size / 32) ** 1.5)
}

interface Matcher {
  find(): boolean
  start(): number
  end(): number
}

function replaceAll(matcher: Matcher, text: string, replacement: string, accepts: Accepts): string {
  let [replaced, from] = ['', 0]
  while (matcher.find()) {
    const [start, end] = [matcher.start(), matcher.end()]
    if (start === end || !accepts(text.slice(start, end))) continue
    replaced += text.slice(from, start) + replacement
    from = end
  }
  return from === 0 ? text : replaced + text.slice(from)
}

/** Text in one line that both stores preserve. It may be empty. */
export function text(max: number) {
  return z.string().max(max).refine(isPlain, 'is not plain text')
}

/** Text in one line that is not empty. */
export function line(max: number) {
  return z.string().min(1).max(max).refine(isPlain, 'is not plain text')
}

function isPlain(value: string): boolean {
  return value.isWellFormed() && !/\p{Cc}/u.test(value)
}

/** A pattern that schemas omit: it costs tokens, and few models can use it. */
export function fitting(pattern: RegExp, problem: string) {
  return z.string().refine((value) => pattern.test(value), problem)
}
