import { z } from 'zod'
import { receiptId } from '../../core/ids.ts'
import { INBOX_STATES, INBOX_TYPES, type InboxItem, stateOf } from '../../core/inbox.ts'
import { type CanonicalJson, type Json, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import type { Question } from '../../core/question.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isOpen, type Outcome } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import { TERMINAL_STATUSES, type TerminalStatus } from '../../core/transitions.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { isObject } from '../../util/guards.ts'
import { storedInput } from '../tasks/stored-input.ts'
import { isoOrNull } from '../view.ts'

const time = z.iso.datetime()

/** What became of an item. */
export const marksShape = z.object({
  receipt_id: z.string(),
  state: z.enum(INBOX_STATES).meta({ description: 'How far it has come' }),
  created_at: time,
  delivered_at: time.nullable().meta({ description: 'When it was first handed to you' }),
  delivery_count: z.int().meta({ description: 'How often it was handed to you' }),
  read_at: time.nullable().meta({ description: 'When you said so, or had the result' }),
  fetched_at: time.nullable().meta({ description: 'When you first had the result' }),
  promoted_at: time.nullable().meta({ description: 'When the result was stored in a memory' }),
  archived_at: time.nullable().meta({ description: 'When it was put away or acknowledged' }),
})

export const inboxItemShape = marksShape.extend({
  receipt_type: z.enum(INBOX_TYPES),
  task_id: z.string().nullable(),
  type: z.string().nullable().meta({ description: 'Of the task' }),
  summary: z.string().meta({ description: 'In a sentence, what happened' }),
  status: z
    .enum(TERMINAL_STATUSES)
    .nullable()
    .meta({ description: 'How the task ended; null if it has not' }),
  dead_letter: z.boolean().meta({ description: 'True when retries or expiries ran out' }),
})

export type MarksView = z.output<typeof marksShape>
export type InboxItemView = z.output<typeof inboxItemShape>

export function marksView(tenant: TenantRef, item: InboxItem): MarksView {
  return {
    receipt_id: receiptId(tenant.salt, item.seq),
    state: stateOf(item),
    created_at: isoTime(item.created_at),
    delivered_at: isoOrNull(item.delivered_at),
    delivery_count: item.delivery_count,
    read_at: isoOrNull(item.read_at),
    fetched_at: isoOrNull(item.fetched_at),
    promoted_at: isoOrNull(item.promoted_at),
    archived_at: isoOrNull(item.archived_at),
  }
}

/** What an item is about: its receipt, the task, and the receipt that ended the task. */
export interface Subject {
  readonly receipt: Receipt
  readonly task: SubjectTask | undefined
  readonly ending: Receipt | undefined
}

/** As much of a task as an item says. */
export interface SubjectTask {
  readonly type: string
  readonly summary: string | undefined
  readonly ended: (Pick<Outcome, 'dead_letter' | 'receipt_seq'> & { status: TerminalStatus }) | undefined
  readonly questions: readonly Pick<Question, 'seq' | 'state'>[]
}

export function subjectTask({ task, spec, questions }: TaskRecord): SubjectTask {
  return {
    type: spec.type,
    summary: storedInput(spec.input).summary,
    ended: isOpen(task)
      ? undefined
      : {
          status: task.status,
          dead_letter: task.outcome.dead_letter,
          receipt_seq: task.outcome.receipt_seq,
        },
    questions: questions.map(({ seq, state }) => ({ seq, state })),
  }
}

export function inboxItemView(tenant: TenantRef, item: InboxItem, subject: Subject): InboxItemView {
  const { receipt, task } = subject
  return {
    ...marksView(tenant, item),
    receipt_type: receipt.receipt_type,
    task_id: receipt.task_id,
    type: task?.type ?? null,
    summary: summaryOf(subject),
    status: task?.ended?.status ?? null,
    dead_letter: task?.ended?.dead_letter ?? false,
  }
}

const MAX_SUMMARY = 500

function summaryOf({ receipt, task, ending }: Subject): string {
  const type = task?.type ?? 'The task'
  const body = membersOf(receipt.body)
  switch (receipt.receipt_type) {
    case 'task.result_ready':
      return shortened(resultSummary(type, task?.summary, body, ending))
    case 'task.progress':
      return shortened(`${type}: ${progressWords(body.progress)}`)
    case 'lease.expired':
      return `${type}: a worker lost its lease`
    case 'task.escalated':
      return shortened(`${type}: escalated, ${textOf(body.escalation_reason) ?? 'for no given reason'}`)
    case 'question.asked':
      return questionSummary(
        type,
        body,
        task?.questions.find(({ seq }) => seq === receipt.seq),
      )
    default:
      return shortened(`${type}: ${textOf(body.recommended_action) ?? 'needs a look'}`)
  }
}

/** What a milestone says, or how far the work is. */
function progressWords(progress: Json | undefined): string {
  const { message, milestone, percent } = isObject(progress) ? progress : {}
  return (
    textOf(message) ??
    textOf(milestone) ??
    (typeof percent === 'number' ? `${percent} %` : 'reached a milestone')
  )
}

function questionSummary(
  type: string,
  { kind }: JsonObject,
  question: Pick<Question, 'state'> | undefined,
): string {
  const what = kind === 'input' ? 'your input' : 'an approval'
  if (question === undefined || question.state === 'open') return `${type}: waits for ${what}`
  return `${type}: asked for ${what}, and was ${question.state}`
}

function resultSummary(
  type: string,
  summary: string | undefined,
  body: JsonObject,
  ending: Receipt | undefined,
): string {
  const said = ending && textOf(membersOf(ending.body).result_summary)
  if (body.status === 'succeeded') return said ?? `${summary ?? type}: succeeded`
  const why = body.status === 'failed' && isObject(body.error) ? textOf(body.error.message) : undefined
  return `${summary ?? type}: ${body.status}${why === undefined ? '' : `, ${why}`}`
}

function membersOf(body: CanonicalJson): JsonObject {
  const value = parseCanonical(body)
  return isObject(value) ? value : {}
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** By whole characters. */
function shortened(text: string): string {
  const characters = [...text]
  return characters.length <= MAX_SUMMARY ? text : `${characters.slice(0, MAX_SUMMARY - 1).join('')}…`
}
