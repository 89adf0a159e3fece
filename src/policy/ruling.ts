import type { Json, JsonObject } from '../core/json/json.ts'
import type { PrincipalKey } from '../core/principal.ts'

export const ACTIONS = ['ALLOW', 'BLOCK', 'REDACT', 'REQUIRE_APPROVAL'] as const
export type Action = (typeof ACTIONS)[number]

/** The actions that can be the default. */
export const DEFAULT_ACTIONS = ['ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'] as const
export type DefaultAction = (typeof DEFAULT_ACTIONS)[number]

/** Who may approve: a person only, or also the user of the client that asks, in that client. */
export const APPROVERS = ['person', 'client'] as const
export type Approver = (typeof APPROVERS)[number]

export interface Defaults {
  /** For tasks that are no tool calls. */
  readonly plain: DefaultAction
  /** For calls of upstream tools. */
  readonly upstream: DefaultAction
}

export interface Requirements {
  readonly capabilities?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
}

/** The task that rules are evaluated for. */
export interface PolicyContext {
  readonly type: string
  /** The tool, its upstream and its category; null for a task that is no tool call. */
  readonly tool: string | null
  readonly upstream: string | null
  readonly category: string | null
  /** The agent that the task is created for, according to the caller. */
  readonly agent: string
  /** The caller, according to its credential. */
  readonly principal: PrincipalKey
  readonly tenant: string
  readonly session: string | null
  readonly args: Json
  /** Further input of the worker. */
  readonly inputs?: JsonObject | undefined
  readonly body?: string | undefined
  readonly payload_pointer?: string | undefined
  readonly requirements?: Requirements | undefined
  /** Some arguments are at payload_pointer, where no rule can read them. */
  readonly elsewhere?: boolean
}

export interface Redacted {
  readonly value: Json
  /** The redacted fields as JSON Pointers. */
  readonly fields: readonly string[]
}

export interface Ruling {
  readonly action: Action
  /** Null: the default applied. */
  readonly rule_id: string | null
  /** For the caller. */
  readonly reason: string
  /** How long an approval waits; null: the rule does not specify it. */
  readonly expires_in_ms: number | null
  /** Who may approve; null unless approval is required. */
  readonly approve_by: Approver | null
  /** The ids of the rules that redact the arguments or the result. */
  readonly redacting: readonly string[]
  /** Redacts arguments; the same value if nothing is redacted. */
  redactArgs(args: Json): Redacted
  /** Redacts other input of the task: paths apply to arguments only, patterns to every text. */
  redactText(value: Json): Redacted
}

/** What a ruling did with one rule. */
export interface Consideration {
  readonly id: string
  readonly applied: boolean
  readonly why: string
}

/** The current rules of a tenant. */
export interface TenantPolicies {
  /** Whether every task that is no tool call is allowed unchanged. */
  readonly isOpen: boolean
  /** Whether some rule redacts results. */
  readonly redactsResults: boolean
  rule(context: PolicyContext): Ruling
  /**
   * Redacts a result, error or progress. `redacting`: the rules that applied when the task was created, because their
   * conditions may not hold any more once the arguments are redacted.
   */
  redactResult(context: PolicyContext, value: Json, redacting?: readonly string[]): Redacted
  /** Whether some rule redacts the results of such a task. */
  redactsResultOf(context: PolicyContext, redacting?: readonly string[]): boolean
}
