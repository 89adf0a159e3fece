import type { Json, JsonObject } from '../core/json/json.ts'
import type { PrincipalKey } from '../core/principal.ts'

export const ACTIONS = ['ALLOW', 'BLOCK', 'REDACT', 'REQUIRE_APPROVAL'] as const
export type Action = (typeof ACTIONS)[number]

/** What is done where no rule decides. */
export const DEFAULT_ACTIONS = ['ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'] as const
export type DefaultAction = (typeof DEFAULT_ACTIONS)[number]

export interface Defaults {
  /** For tasks of plain types. */
  readonly plain: DefaultAction
  /** For calls of tools of upstreams. */
  readonly upstream: DefaultAction
}

/** What a worker must be able to do, and how the agent tags the task. */
export interface Requirements {
  readonly capabilities?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
}

/** What rules are about: a task that somebody wants to have done. */
export interface PolicyContext {
  readonly type: string
  /** The tool of an upstream by its own name, its upstream and its category; null for a task that is no call of one. */
  readonly tool: string | null
  readonly upstream: string | null
  readonly category: string | null
  /** The agent on whose behalf it is done, as whoever asks says. */
  readonly agent: string
  /** Who asks, by its credential. */
  readonly principal: PrincipalKey
  readonly tenant: string
  readonly session: string | null
  readonly args: Json
  /** What else the worker gets; absent if the task has none of it. */
  readonly inputs?: JsonObject | undefined
  readonly body?: string | undefined
  readonly payload_pointer?: string | undefined
  readonly requirements?: Requirements | undefined
  /** Some of the arguments are elsewhere, where no rule can look at them. */
  readonly elsewhere?: boolean
}

export interface Redacted {
  readonly value: Json
  /** Where something was taken out, as JSON Pointers. */
  readonly fields: readonly string[]
}

export interface Ruling {
  readonly action: Action
  /** Null: no rule applied, so the default did. */
  readonly rule_id: string | null
  /** In words, for whoever asked. */
  readonly reason: string
  /** How long an approval waits; null: the rule does not say. */
  readonly expires_in_ms: number | null
  /** The rules that take something out, of the arguments or the result. */
  readonly redacting: readonly string[]
  /** Takes out of the arguments what the rules say; the same value if that is nothing. */
  redactArgs(args: Json): Redacted
  /** The same for what else comes with a task: paths lead into the arguments only, patterns look at every text. */
  redactText(value: Json): Redacted
}

/** One rule in the course of a ruling. */
export interface Consideration {
  readonly id: string
  readonly applied: boolean
  readonly why: string
}

/** The rules of a tenant as they stand. */
export interface TenantPolicies {
  /** Whether every task of a plain type is allowed as it is, so that nobody need ask. */
  readonly isOpen: boolean
  /** Whether some rule takes something out of results. */
  readonly redactsResults: boolean
  rule(context: PolicyContext): Ruling
  /**
   * What remains of a result, an error or a progress of such a task. `redacting` are the rules that applied when it
   * was created: a condition may not be seen to hold any more once the arguments are redacted.
   */
  redactResult(context: PolicyContext, value: Json, redacting?: readonly string[]): Redacted
  /** Whether some rule takes something out of the results of such a task. */
  redactsResultOf(context: PolicyContext, redacting?: readonly string[]): boolean
}
