import { z } from 'zod'
import { ELSEWHERE } from '../../../core/question.ts'
import { visibleJson, visibleLine, visibleText } from '../../../util/untrusted-text.ts'
import type { Client } from '../../client.ts'
import { type Output, paint } from '../../output.ts'

const principal = z.looseObject({ kind: z.string(), id: z.string() })

/** As much of an approval as is shown here; a newer server may say more. */
export const approvalShape = z.looseObject({
  task_id: z.string(),
  n: z.number(),
  kind: z.string(),
  state: z.string(),
  request: z.looseObject({
    title: z.string().optional(),
    show: z.unknown().optional(),
    reason: z.string().optional(),
    rule_id: z.string().nullish(),
    message: z.string().optional(),
  }),
  asked_by: principal,
  asked_at: z.string(),
  expires_at: z.string().nullable(),
  decided_by: principal.nullable(),
  decided_at: z.string().nullable(),
  content_hash: z.string().optional(),
  answer: z.looseObject({ comment: z.string().optional(), reason: z.string().optional() }).nullable(),
  diff: z
    .array(z.looseObject({ path: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }))
    .optional(),
  task: z.looseObject({
    type: z.string(),
    summary: z.string().nullable(),
    payload: z.unknown().optional(),
    payload_pointer: z.string().optional(),
    payload_is_elsewhere: z.boolean().optional(),
    body: z.string().nullish(),
    inputs: z.record(z.string(), z.unknown()).optional(),
    requirements: z.looseObject({ capabilities: z.array(z.string()), tags: z.array(z.string()) }).optional(),
    success_criteria: z.string().nullish(),
    result_delivery: z.string().optional(),
    expected_outcome_kind: z.string().nullish(),
    expected_artifact_mime: z.string().nullish(),
    not_before: z.string().nullish(),
    deadline_at: z.string().nullish(),
    timeout_seconds: z.number().nullish(),
    priority: z.number().optional(),
    max_attempts: z.number().optional(),
    provenance: z
      .looseObject({ parent_task_id: z.string().nullable(), caused_by_receipt_id: z.string().nullable() })
      .optional(),
    owner: principal,
    principal_ai: z.string(),
    session_id: z.string().nullable(),
    status: z.string(),
  }),
})

export type Approval = z.output<typeof approvalShape>

export function approvalPath(task_id: string, verb = ''): string {
  return `/v1/approvals/${encodeURIComponent(task_id)}${verb}`
}

export function readApproval(client: Client, task_id: string, n: number | undefined): Promise<Approval> {
  return client.get(approvalPath(task_id), { n }, approvalShape)
}

const MAX_TITLE = 500

/** What is asked, in a line. */
export function titleOf({ request, task }: Approval): string {
  return visibleLine(
    request.title ?? request.message ?? task.summary ?? `a task of type ${task.type}`,
    MAX_TITLE,
  )
}

/** Everything that an approver needs to decide. Hidden characters are written out: what is approved is what is seen. */
export function tellApproval(output: Output, approval: Approval): void {
  const { request, task, task_id, n, state } = approval
  const { principal_ai, owner, session_id } = task
  const onBehalf = owner.kind === 'agent' && owner.id === principal_ai ? '' : `, on behalf of ${principal_ai}`
  output.say(paint('bold', titleOf(approval)))
  output.say()
  const lines: [string, string][] = [
    ['state', state === 'open' ? 'waits for a decision' : state],
    ['asked', `${ago(approval.asked_at)}, by ${keyOf(approval.asked_by)}`],
    ['for', `${keyOf(owner)}${onBehalf}${session_id === null ? '' : `, session ${session_id}`}`],
    ['task', `${task_id}, ${task.type}, ${task.status}${n === 1 ? '' : `, question ${n}`}`],
    ['why', request.reason ?? ''],
    ['rule', request.rule_id ?? ''],
    ['expires', approval.expires_at ?? ''],
    ['decided', decisionOf(approval)],
    ['content', approval.content_hash ?? ''],
    ...conditionsOf(task),
  ]
  for (const [name, value] of lines) {
    if (value !== '') output.say(`${name.padEnd(8)} ${visibleText(value).replaceAll('\n', '\n         ')}`)
  }
  tellJson(output, 'shown', request.show)
  tellJson(output, 'payload', task.payload)
  if (task.payload_is_elsewhere === true) {
    output.say(`\npayload_pointer\n  ${visibleText(task.payload_pointer ?? '')}`)
    output.say(paint('yellow', `  ${ELSEWHERE}`))
  }
  tellText(output, 'body', task.body)
  if (Object.keys(task.inputs ?? {}).length > 0) tellJson(output, 'inputs', task.inputs)
  if (approval.diff !== undefined && approval.diff.length > 0) {
    output.say('\nchanged by the approver')
    for (const { path, before, after } of approval.diff) {
      output.say(`  ${visibleText(path)}: ${json(before)} -> ${json(after)}`)
    }
  }
}

/** What else the worker gets, or is bound by; only what is not as usual. */
function conditionsOf(task: Approval['task']): [string, string][] {
  const { requirements, provenance } = task
  const list = (words: readonly string[] = []) => words.join(', ')
  return [
    ['summary', task.summary ?? ''],
    ['needs', list(requirements?.capabilities)],
    ['tags', list(requirements?.tags)],
    ['done if', task.success_criteria ?? ''],
    ['deliver', task.result_delivery === 'return_payload' ? '' : (task.result_delivery ?? '')],
    [
      'outcome',
      list([task.expected_outcome_kind, task.expected_artifact_mime].flatMap((word) => word ?? [])),
    ],
    ['begins', task.not_before ? `not before ${task.not_before}` : ''],
    ['ends by', task.deadline_at ?? ''],
    ['runs', runsOf(task)],
    ['parent', provenance?.parent_task_id ?? ''],
    ['cause', provenance?.caused_by_receipt_id ?? ''],
  ]
}

/** How often and how long it may be tried. */
function runsOf({ priority, max_attempts, timeout_seconds }: Approval['task']): string {
  return [
    ...(max_attempts === undefined
      ? []
      : [`at most ${max_attempts} ${max_attempts === 1 ? 'attempt' : 'attempts'}`]),
    ...(typeof timeout_seconds === 'number' ? [`${timeout_seconds} s each`] : []),
    ...(priority === undefined || priority === 0 ? [] : [`priority ${priority}`]),
  ].join(', ')
}

function tellText(output: Output, name: string, text: string | null | undefined): void {
  if (typeof text === 'string') output.say(`\n${name}\n  ${visibleText(text).replaceAll('\n', '\n  ')}`)
}

function tellJson(output: Output, name: string, value: unknown): void {
  if (value === undefined || value === null) return
  output.say(`\n${name}`)
  output.say(`  ${visibleJson(value).replaceAll('\n', '\n  ')}`)
}

function json(value: unknown): string {
  return value === undefined ? 'nothing' : visibleJson(value, 0)
}

function decisionOf({ decided_by, decided_at, answer }: Approval): string {
  if (decided_by === null || decided_at === null) return ''
  const words = answer?.comment ?? answer?.reason
  return `${decided_at}, by ${keyOf(decided_by)}${words === undefined ? '' : `: ${words}`}`
}

export function keyOf({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return `${kind}:${id}`
}

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

/** How long ago, in the largest unit that fits. */
export function ago(time: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000))
  for (const [size, unit] of UNITS) {
    const count = Math.floor(seconds / size)
    if (count > 0) return `${count} ${unit}${count === 1 ? '' : 's'} ago`
  }
  return 'just now'
}
