import { z } from 'zod'
import { cleanLine, cleanText } from '../gateway/untrusted-text.ts'
import type { Client } from './client.ts'
import { type Output, paint } from './output.ts'

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
  answer: z.looseObject({ comment: z.string().optional(), reason: z.string().optional() }).nullable(),
  diff: z
    .array(z.looseObject({ path: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }))
    .optional(),
  task: z.looseObject({
    type: z.string(),
    summary: z.string().nullable(),
    payload: z.unknown().optional(),
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
  return cleanLine(
    request.title ?? request.message ?? task.summary ?? `a task of type ${task.type}`,
    MAX_TITLE,
  )
}

/** Everything that a person needs to decide. The words are those of others, and cannot pass for ours. */
export function tellApproval(output: Output, approval: Approval): void {
  const { request, task, task_id, n, state } = approval
  const { principal_ai, owner, session_id } = task
  const onBehalf = owner.kind === 'agent' && owner.id === principal_ai ? '' : `, on behalf of ${principal_ai}`
  output.say(paint('bold', titleOf(approval)))
  output.say()
  const lines: [string, string][] = [
    ['state', state === 'open' ? paint('yellow', 'waits for a decision') : state],
    ['asked', `${ago(approval.asked_at)}, by ${keyOf(approval.asked_by)}`],
    ['for', `${keyOf(owner)}${onBehalf}${session_id === null ? '' : `, session ${session_id}`}`],
    ['task', `${task_id}, ${task.type}, ${task.status}${n === 1 ? '' : `, question ${n}`}`],
    ['summary', task.summary ?? ''],
    ['why', request.reason ?? ''],
    ['rule', request.rule_id ?? ''],
    ['expires', approval.expires_at ?? ''],
    ['decided', decisionOf(approval)],
  ]
  for (const [name, value] of lines) {
    if (value !== '')
      output.say(`${name.padEnd(8)} ${cleanText(value, 4000).replaceAll('\n', '\n         ')}`)
  }
  tellJson(output, 'shown', request.show)
  tellJson(output, 'payload', task.payload)
  if (approval.diff !== undefined && approval.diff.length > 0) {
    output.say('\nchanged by the approver')
    for (const { path, before, after } of approval.diff) {
      output.say(`  ${visible(path)}: ${json(before)} -> ${json(after)}`)
    }
  }
}

function tellJson(output: Output, name: string, value: unknown): void {
  if (value === undefined || value === null) return
  output.say(`\n${name}`)
  const text = visible(JSON.stringify(value, null, 2))
  output.say(`  ${text.replaceAll('\n', '\n  ')}`)
}

function json(value: unknown): string {
  return value === undefined ? 'nothing' : visible(JSON.stringify(value))
}

/** With every character that would not show written out: what is approved is what is seen. */
function visible(text: string): string {
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}]|[\u{E0100}-\u{E01EF}]/gu, (char) =>
    Array.from(
      { length: char.length },
      (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
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
