import type { InboxItem } from '../../core/inbox.ts'
import { type CanonicalJson, type Json, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import type { Question } from '../../core/question.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isOpen, type Outcome } from '../../core/task.ts'
import type { TerminalStatus } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { eachRecord } from '../../engine/portions.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { isObject } from '../../util/guards.ts'
import { nextTurn } from '../../util/turns.ts'
import { storedInput } from '../tasks/task-input.ts'
import { type InboxItemView, marksView } from './shape.ts'

/** Items that are described together: their receipts and tasks are in memory at the same time. */
const CHUNK = 25

/** Maximum length of a summary in characters. */
const MAX_SUMMARY = 500

/** The receipt of an item, its task, and the receipt that ended the task. */
interface Subject {
  readonly receipt: Receipt
  readonly task: SubjectTask | undefined
  readonly ending: Receipt | undefined
}

/** The part of a task that an item shows. */
interface SubjectTask {
  readonly type: string
  readonly summary: string | undefined
  readonly ended: (Pick<Outcome, 'dead_letter' | 'receipt_seq'> & { status: TerminalStatus }) | undefined
  readonly questions: readonly Pick<Question, 'seq' | 'state'>[]
}

/** The items with the type and the outcome of their tasks. Items whose receipt does not exist are left out. */
export async function describeItems(
  engine: Engine,
  tenant: TenantRef,
  items: readonly InboxItem[],
): Promise<InboxItemView[]> {
  const views: InboxItemView[] = []
  for (let from = 0; from < items.length; from += CHUNK) {
    if (from > 0) await nextTurn()
    views.push(...(await describeChunk(engine, tenant, items.slice(from, from + CHUNK))))
  }
  return views
}

async function describeChunk(
  engine: Engine,
  tenant: TenantRef,
  items: readonly InboxItem[],
): Promise<InboxItemView[]> {
  const readAt = async (seqs: readonly number[]) => {
    const receipts = await engine.reading(() => engine.store.reads.receiptsAt(tenant.tenant, seqs))
    return new Map(receipts.map((receipt) => [receipt.seq, receipt]))
  }
  const receipts = await readAt(items.map(({ seq }) => seq))
  const ids = [...receipts.values()].flatMap(({ task_id }) => task_id ?? [])
  const tasks = new Map<string, SubjectTask>()
  await eachRecord(engine, tenant.tenant, ids, (record) => {
    tasks.set(record.task.task_id, subjectTask(record))
  })
  const endings = await readAt([...tasks.values()].flatMap(({ ended }) => ended?.receipt_seq ?? []))
  return items.flatMap((item) => {
    const receipt = receipts.get(item.seq)
    if (receipt === undefined) return []
    const task = tasks.get(receipt.task_id ?? '')
    const ending = task?.ended && endings.get(task.ended.receipt_seq)
    return [
      {
        ...marksView(tenant, item),
        receipt_type: receipt.receipt_type,
        task_id: receipt.task_id,
        type: task?.type ?? null,
        summary: summaryOf({ receipt, task, ending }),
        status: task?.ended?.status ?? null,
        dead_letter: task?.ended?.dead_letter ?? false,
      },
    ]
  })
}

function subjectTask({ task, spec, questions }: TaskRecord): SubjectTask {
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

function summaryOf({ receipt, task, ending }: Subject): string {
  const type = task?.type ?? 'The task'
  const body = membersOf(receipt.body)
  switch (receipt.receipt_type) {
    case 'task.result_ready':
      return shortened(resultSummary(type, task?.summary, body, ending))
    case 'task.progress':
      return shortened(`${type}: ${progressText(body.progress)}`)
    case 'lease.expired':
      return `${type}: a worker lost its lease`
    case 'task.escalated':
      return shortened(`${type}: escalated, ${textOf(body.escalation_reason) ?? 'no reason given'}`)
    case 'question.asked':
      return questionSummary(
        type,
        body,
        task?.questions.find(({ seq }) => seq === receipt.seq),
      )
    default:
      return shortened(`${type}: ${textOf(body.recommended_action) ?? 'needs attention'}`)
  }
}

/** The message of a milestone, or the percentage of the work that is done. */
function progressText(progress: Json | undefined): string {
  const { message, milestone, percent } = objectOf(progress)
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
  const why = body.status === 'failed' ? textOf(objectOf(body.error).message) : undefined
  return `${summary ?? type}: ${body.status}${why === undefined ? '' : `, ${why}`}`
}

function membersOf(body: CanonicalJson): JsonObject {
  return objectOf(parseCanonical(body))
}

function objectOf(value: Json | undefined): JsonObject {
  return value !== undefined && isObject(value) ? value : {}
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Cut by whole characters. */
function shortened(text: string): string {
  const characters = [...text]
  return characters.length <= MAX_SUMMARY ? text : `${characters.slice(0, MAX_SUMMARY - 1).join('')}…`
}
