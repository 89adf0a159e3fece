import type { GetApprovalAnswer } from '../../../client/operations.ts'
import { ELSEWHERE } from '../../../core/question.ts'
import { isObject } from '../../../util/guards.ts'
import { visibleJson, visibleLine, visibleText } from '../../../util/untrusted-text.ts'
import { type Output, paint } from '../../output.ts'
import { nameOf, textField } from '../tasks/print.ts'

const MAX_TITLE = 500

/** The request in one line. */
export function titleOf({ request, task }: GetApprovalAnswer): string {
  const title = textField(request, 'title') ?? textField(request, 'message') ?? task.summary
  return visibleLine(title ?? `a task of type ${task.type}`, MAX_TITLE)
}

/** Prints all that an approver needs to decide. Hidden characters are escaped: what is approved is what is seen. */
export function printApproval(output: Output, approval: GetApprovalAnswer): void {
  const { request, task, task_id, n, state } = approval
  const { principal_ai, owner, session_id } = task
  const onBehalf = owner.kind === 'agent' && owner.id === principal_ai ? '' : `, on behalf of ${principal_ai}`
  output.print(paint('bold', titleOf(approval)))
  output.print()
  const lines: [string, string | null | undefined][] = [
    ['state', state === 'open' ? 'waits for a decision' : state],
    ['asked', `${ago(approval.asked_at)}, by ${nameOf(approval.asked_by)}`],
    ['for', `${nameOf(owner)}${onBehalf}${session_id === null ? '' : `, session ${session_id}`}`],
    ['task', `${task_id}, ${task.type}, ${task.status}${n === 1 ? '' : `, question ${n}`}`],
    ['why', textField(request, 'reason')],
    ['rule', textField(request, 'rule_id')],
    ['also by', textField(request, 'approve_by') === 'client' ? 'the user of the client, in the client' : ''],
    ['expires', approval.expires_at],
    ['decided', decisionOf(approval)],
    ['content', approval.content_hash],
    ...conditionsOf(task),
  ]
  output.details(
    lines.map(([name, value]) => [name, visibleText(value ?? '').replaceAll('\n', '\n         ')]),
    8,
  )
  if (isObject(request)) printJson(output, 'shown', request.show)
  printJson(output, 'payload', task.payload)
  if (task.payload_is_elsewhere) {
    output.print(`\npayload_pointer\n  ${visibleText(task.payload_pointer)}`)
    output.print(paint('yellow', `  ${ELSEWHERE}`))
  }
  if (task.body !== null) output.print(`\nbody\n  ${visibleText(task.body).replaceAll('\n', '\n  ')}`)
  if (Object.keys(task.inputs ?? {}).length > 0) printJson(output, 'inputs', task.inputs)
  if (approval.diff !== undefined && approval.diff.length > 0) {
    output.print('\nchanged by the approver')
    const json = (value: unknown) => (value === undefined ? 'nothing' : visibleJson(value, 0))
    for (const { path, before, after } of approval.diff) {
      output.print(`  ${visibleText(path)}: ${json(before)} -> ${json(after)}`)
    }
  }
}

/** Further properties of the task that bind the worker, where they differ from the defaults. */
function conditionsOf(task: GetApprovalAnswer['task']): [string, string | null][] {
  const { requirements, provenance, max_attempts, timeout_seconds, priority } = task
  const outcome = [task.expected_outcome_kind, task.expected_artifact_mime]
  const runs = [
    `at most ${max_attempts} ${max_attempts === 1 ? 'attempt' : 'attempts'}`,
    ...(timeout_seconds === null ? [] : [`${timeout_seconds} s each`]),
    ...(priority === 0 ? [] : [`priority ${priority}`]),
  ]
  return [
    ['summary', task.summary],
    ['needs', requirements.capabilities.join(', ')],
    ['tags', requirements.tags.join(', ')],
    ['done if', task.success_criteria],
    ['deliver', task.result_delivery === 'return_payload' ? '' : task.result_delivery],
    ['outcome', outcome.filter((part) => part !== null).join(', ')],
    ['begins', task.not_before && `not before ${task.not_before}`],
    ['ends by', task.deadline_at],
    ['runs', runs.join(', ')],
    ['parent', provenance.parent_task_id],
    ['cause', provenance.caused_by_receipt_id],
  ]
}

function printJson(output: Output, name: string, value: unknown): void {
  if (value === undefined || value === null) return
  output.print(`\n${name}\n  ${visibleJson(value).replaceAll('\n', '\n  ')}`)
}

function decisionOf({ decided_by, decided_at, answer }: GetApprovalAnswer): string {
  if (decided_by === null || decided_at === null) return ''
  const comment = textField(answer, 'comment') ?? textField(answer, 'reason')
  const inClient = isObject(answer) && isObject(answer.client) ? ', on behalf of its user in the client' : ''
  return `${decided_at}, by ${nameOf(decided_by)}${inClient}${comment === undefined ? '' : `: ${comment}`}`
}

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

/** The time since then, in the largest unit that fits. */
export function ago(time: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000))
  for (const [size, unit] of UNITS) {
    const count = Math.floor(seconds / size)
    if (count > 0) return `${count} ${unit}${count === 1 ? '' : 's'} ago`
  }
  return 'just now'
}
