import { z } from 'zod'
import { checkReader, checkRole, may } from '../../core/authorization.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import {
  originOf,
  QUESTION_KINDS,
  QUESTION_STATES,
  type Question,
  type QuestionState,
} from '../../core/question.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { readRecords } from '../../engine/portions.ts'
import { storedJson, storedOrNull } from '../../engine/stored-json.ts'
import type { QuestionLine, TaskLine, TaskRecord } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import { principalShape } from '../fields.ts'
import { json, parse, taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import { originShape } from '../shapes.ts'
import { readTask } from '../tasks/read-task.ts'
import { statusShape, workShape } from '../tasks/shape.ts'
import { contentHashOf, workAt } from '../tasks/work.ts'
import { questionOf } from './answer.ts'
import { partsOf, principalOrNull } from './question-view.ts'

export const listApprovalsInput = z.strictObject({
  state: z.enum([...QUESTION_STATES, 'all']).default('open'),
  type: text(255).optional().meta({ description: 'Only of tasks of this type' }),
  limit: pageLimit,
  cursor: text(512).optional(),
})

export const getApprovalInput = z.strictObject({
  task_id: taskId,
  n: z.int().min(1).optional().meta({ description: 'Which question of the task; the newest if absent' }),
})

const time = z.iso.datetime()

const differencesShape = z.array(
  z.object({ path: z.string(), before: json.optional(), after: json.optional() }),
)

export const approvalShape = z.object({
  task_id: z.string(),
  n: z.int(),
  kind: z.enum(QUESTION_KINDS),
  state: z.enum(QUESTION_STATES),
  request: json.meta({ description: 'title, show, reason, rule_id' }),
  asked_by: principalShape,
  origin: originShape,
  asked_at: time,
  expires_at: time.nullable(),
  decided_by: principalShape.nullable(),
  decided_at: time.nullable(),
  answer: json.meta({ description: 'comment, payload of an approval; reason of a denial' }),
  diff: differencesShape.optional().meta({ description: 'What the approver changed in the payload' }),
  content_hash: z.string().meta({
    description:
      'Of the request and of everything that the worker will get; as it was approved, if the approver changed it. approve and deny take it',
  }),
  task: z
    .object({
      ...workShape.shape,
      payload_pointer: z.string().meta({
        description: 'inline://task/TASK_ID, or where the agent says that the payload, or more of it, is',
      }),
      payload_is_elsewhere: z.boolean().meta({
        description:
          'The worker may read what is at payload_pointer. The gate does not know what that is, and it may change after the decision',
      }),
      not_before: time
        .nullable()
        .meta({ description: 'An approved task is not worked on before then; null if it need not wait' }),
      owner: principalShape,
      created_at: time,
      status: statusShape,
      policy: json,
    })
    .meta({ description: 'Everything that the worker will get, and who asks for it' }),
})

export type ApprovalView = z.output<typeof approvalShape>

export interface ApprovalPage {
  readonly approvals: readonly ApprovalView[]
  /** Null at the end. A page may hold fewer than `limit` and still go on. */
  readonly next_cursor: string | null
}

/** Questions that one call looks at. */
const MAX_SCANNED = 2000
const PAGE = 200

/** Open ones as they wait, longest first; others newest first. Approvers see all, agents those of their own tasks. */
export async function listApprovals(engine: Services, caller: Caller, input: unknown): Promise<ApprovalPage> {
  const seesAll = may(caller, 'approve')
  if (!seesAll) checkRole(caller, 'list')
  const { limit, cursor, state, type } = parse(listApprovalsInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const self = principalKey(caller.principal)
  const fits = (task: TaskLine) =>
    (type === undefined || task.type === type) &&
    (seesAll || task.owner === self || self === `agent:${task.principal_ai}`)
  const scope = { tenant, query: { list: 'approvals', state, type, self: seesAll ? null : self } }
  const start = state === 'open' ? 0 : Number.MAX_SAFE_INTEGER
  const from = cursor === undefined ? start : await engine.cursors.read(scope, cursor)
  const found = await findQuestions(engine, tenant, { state, from, limit, fits })
  const { rows, covered } = await readRecords(
    engine,
    tenant,
    found.questions.map(({ task }) => task),
  )
  const records = new Map(rows.map((record) => [record.task.task_id, record]))
  const shown = found.questions.slice(0, covered)
  const next = covered < found.questions.length ? (shown.at(-1)?.line.seq ?? null) : found.next
  return {
    approvals: shown.flatMap(({ line }) => {
      const record = records.get(line.task_id)
      const question = record?.questions.find(({ n }) => n === line.n)
      return record === undefined || question === undefined ? [] : [approvalView(record, question)]
    }),
    next_cursor: next === null ? null : await engine.cursors.write(scope, next),
  }
}

interface QuestionQuery {
  readonly state: QuestionState | 'all'
  readonly from: number
  readonly limit: number
  fits(task: TaskLine): boolean
}

interface FoundQuestions {
  readonly questions: readonly { readonly line: QuestionLine; readonly task: TaskLine }[]
  /** Where to go on; null at the end. */
  readonly next: number | null
}

/** The first questions about tasks that fit. It looks at a bounded number of narrow rows. */
async function findQuestions(
  engine: Services,
  tenant: number,
  { state, from, limit, fits }: QuestionQuery,
): Promise<FoundQuestions> {
  const { reads } = engine.store
  const questions: { line: QuestionLine; task: TaskLine }[] = []
  let position = from
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    if (scanned > 0) await nextTurn()
    const page = await engine.reading(() =>
      state === 'open'
        ? reads.questionLines(tenant, 'approval', 'open', position, 'ascending', PAGE)
        : reads.questionLines(tenant, 'approval', 'all', position, 'descending', PAGE),
    )
    const wanted = page.filter((line) => state === 'all' || line.state === state)
    const tasks = await linesOf(engine, tenant, wanted)
    for (const line of wanted) {
      const task = tasks.get(line.task_id)
      if (task === undefined || !fits(task)) continue
      if (questions.length === limit) return { questions, next: position }
      questions.push({ line, task })
      position = line.seq
    }
    if (page.length < PAGE) return { questions, next: null }
    position = page.at(-1)?.seq ?? position
  }
  return { questions, next: position }
}

/** For who may decide on it, and for who may see its task. */
export async function getApproval(engine: Services, caller: Caller, input: unknown): Promise<ApprovalView> {
  const seesAll = may(caller, 'approve')
  if (!seesAll) checkRole(caller, 'read')
  const { task_id, n } = parse(getApprovalInput, input)
  const record = await readTask(engine, await engine.tenant(caller.tenant), task_id)
  if (!seesAll) checkReader(record.task, caller)
  return approvalView(record, questionOf(record, n))
}

async function linesOf(
  engine: Services,
  tenant: number,
  questions: readonly QuestionLine[],
): Promise<Map<string, TaskLine>> {
  if (questions.length === 0) return new Map()
  const ids = [...new Set(questions.map((question) => question.task_id))]
  const lines = await engine.reading(() => engine.store.reads.lines(tenant, ids))
  return new Map(lines.map((line) => [line.task_id, line]))
}

function approvalView(record: TaskRecord, question: Question): ApprovalView {
  const { task, spec } = record
  const { payload_pointer, ...work } = workAt(record, question.n)
  const { diff, ...answer } = partsOf(question)
  return {
    task_id: task.task_id,
    n: question.n,
    kind: question.kind,
    state: question.state,
    request: storedJson(question.request),
    asked_by: parsePrincipalKey(question.asked_by),
    origin: originOf(question),
    asked_at: isoTime(question.asked_at),
    expires_at: isoOrNull(question.expires_at),
    decided_by: principalOrNull(question.decided_by),
    decided_at: isoOrNull(question.decided_at),
    answer: question.answer === null ? null : answer,
    ...(diff !== undefined && { diff: differencesShape.parse(diff) }),
    content_hash: contentHashOf(record, question),
    task: {
      ...work,
      payload_pointer: payload_pointer ?? `inline://task/${task.task_id}`,
      payload_is_elsewhere: payload_pointer !== null,
      not_before: isoOrNull(question.not_before),
      owner: parsePrincipalKey(task.owner),
      created_at: isoTime(spec.created_at),
      status: task.status,
      policy: storedOrNull(spec.policy),
    },
  }
}
