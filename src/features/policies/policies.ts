import type { PrincipalKey } from '../../core/principal.ts'
import type { TenantPolicies } from '../../policy/ruling.ts'

export {
  ACTIONS,
  type Action,
  type PolicyContext,
  type Redacted,
  type Ruling,
  type TenantPolicies,
} from '../../policy/ruling.ts'

/** Allows one agent one tool, or one type, for a time. */
export interface Remembered {
  readonly principal: PrincipalKey
  readonly type: string
  readonly upstream: string | null
  readonly tool: string | null
  /** Of the resource, if one was to be read: no other one is allowed. */
  readonly uri?: string | undefined
  readonly until: number
  readonly by: PrincipalKey
  readonly reason: string
  /** The rule that asked for approval, to which this is the answer; null: the default asked; absent: whichever asks. */
  readonly rule_id?: string | null
}

export interface Policies {
  /** What is known of them, if it has been read. */
  known(tenant: number): TenantPolicies | undefined
  load(tenant: number): Promise<TenantPolicies>
  /** The id of the rule that it became. */
  remember(tenant: number, what: Remembered): Promise<string>
}
