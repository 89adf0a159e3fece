import { parseCanonical } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Question } from '../../core/question.ts'
import { isoTime } from '../../core/time.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Services } from '../services.ts'
import { readToolCall, TOOL_CALL, type ToolCall } from '../sessions/tool-calls.ts'
import { inputOf } from '../tasks/task-input.ts'
import { READ_RESOURCE } from '../upstreams/reads.ts'

interface Wish {
  /** Until when. */
  readonly until: number
  readonly comment: string | undefined
}

/** Makes a rule of an approval: the same owner need not ask again for this tool, or this type. */
export function rememberApproval(
  engine: Services,
  caller: Caller,
  { tenant }: TenantRef,
  { task, spec }: TaskRecord,
  question: Question,
  { until, comment }: Wish,
): Promise<string> {
  const call = spec.type === TOOL_CALL ? readToolCall(inputOf(spec.input).payload) : undefined
  const by = principalKey(caller.principal)
  return engine.policies.remember(tenant, {
    principal: task.owner,
    type: spec.type,
    upstream: call?.upstream ?? null,
    tool: call?.tool ?? null,
    uri: call && uriOf(call),
    until,
    by,
    reason: comment ?? `${by} approved task ${task.task_id}, and until ${isoTime(until)} what is like it.`,
    rule_id: ruleOf(question),
  })
}

/** Reading one resource says nothing about the others, while a prompt has a name of its own. */
function uriOf({ tool, arguments: { uri } }: ToolCall): string | undefined {
  return tool === READ_RESOURCE && typeof uri === 'string' ? uri : undefined
}

/** The rule that asked; null if the default did. */
function ruleOf({ request }: Question): string | null {
  const asked = parseCanonical(request)
  if (typeof asked !== 'object' || asked === null || !('rule_id' in asked)) return null
  return typeof asked.rule_id === 'string' ? asked.rule_id : null
}
