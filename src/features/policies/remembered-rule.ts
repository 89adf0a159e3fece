import { hash } from 'node:crypto'
import { canonical, type Json } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { literally } from '../../policy/glob.ts'
import { type RuleDraft, type Scope, THE_DEFAULT } from '../../policy/rule.ts'
import type { PolicyView } from './shape.ts'

/** An approval that extends to later calls: it allows one principal one tool, or one task type, for a limited time. */
export interface Remembered {
  readonly principal: PrincipalKey
  readonly type: string
  readonly upstream: string | null
  readonly tool: string | null
  /** The only resource that may be read, if the tool reads resources. */
  readonly uri?: string | undefined
  readonly until: number
  readonly by: PrincipalKey
  readonly reason: string
  /** The rule that required the approval; null if the default action did; absent if it stands in for any rule. */
  readonly rule_id?: string | null
}

const PREFIX = 'remembered-'

/** The rule that replaces the approval of a person. The same approval always has the same rule id. */
export function rememberedRule(approval: Remembered): RuleDraft {
  const { principal, type, upstream, tool, uri, until, reason, rule_id } = approval
  const scope: Scope = {
    ...(upstream !== null && { upstream: literally(upstream) }),
    ...(tool !== null && { tool: literally(tool) }),
    type: literally(type),
    principal: literally(principal),
  }
  const key: Json = [principal, type, upstream, tool, rule_id ?? null, ...(uri === undefined ? [] : [uri])]
  return {
    id: `${PREFIX}${hash('sha256', canonical(key)).slice(0, 16)}`,
    description:
      reason
        .replace(/\p{Cc}+/gu, ' ')
        .slice(0, 1000)
        .toWellFormed() || null,
    scope,
    action: 'ALLOW',
    condition: uri === undefined ? null : { '===': [{ var: 'args.uri' }, uri] },
    redact: null,
    approves: rule_id === undefined ? '*' : (rule_id ?? THE_DEFAULT),
    approval_expires_in_seconds: null,
    approve_by: null,
    priority: 0,
    enabled: true,
    expires_at: isoTime(until),
  }
}

/** Whether a rule was created by `rememberedRule` and has expired. */
export function isOutdated({ id, source, expires_at }: PolicyView): boolean {
  if (!id.startsWith(PREFIX) || source !== 'api' || expires_at === null) return false
  return Date.parse(expires_at) <= Date.now()
}
