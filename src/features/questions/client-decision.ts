import { checkClientApprover, checkPermission } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Client } from '../sessions/sessions.ts'
import { payloadAt } from '../tasks/work.ts'
import { type RulingDeps, rulingAtApproval } from './approve.ts'
import { type DecisionAnswer, findQuestion, submitDecision } from './decision.ts'

export interface ClientDecision {
  readonly task_id: string
  readonly n: number
  readonly approve: boolean
  readonly reason: string | undefined
}

/**
 * Decides an approval as the user of the client that asked for it, where the rule that asked and the rule that would ask
 * now both say `approve_by: client`. The decision belongs to the principal of the client; the answer and the receipt say
 * that it was made in the client.
 */
export async function decideInClient(
  deps: RulingDeps & { readonly engine: Engine },
  caller: Caller,
  { name, version }: Client,
  { task_id, n, approve, reason }: ClientDecision,
): Promise<DecisionAnswer> {
  checkPermission(caller, 'answer')
  const { engine } = deps
  const { tenant, record, question } = await findQuestion(engine, caller, task_id, n)
  checkClientApprover(record.task, question, principalKey(caller.principal))
  const client = { name, version }
  if (!approve) {
    const why = reason ?? 'The user of the client denied it.'
    const answer = canonical({ reason: why, client })
    return submitDecision(engine, caller, tenant, question, {
      decision: 'deny',
      reason: why,
      answer,
      via: 'client',
    })
  }
  const ruling = await rulingAtApproval(deps, tenant, record, question, payloadAt(record, n - 1))
  if (question.state === 'open' && ruling.approve_by === 'person') {
    const message =
      'The rules have changed: a person has to decide this, in the console or with the asyncgate command.'
    throw new Fault('FORBIDDEN', { task_id, n, rule_id: ruling.rule_id }, message)
  }
  const answer = canonical({ comment: reason, client })
  return submitDecision(engine, caller, tenant, question, {
    decision: 'approve',
    reason: null,
    answer,
    via: 'client',
  })
}
