import { z } from 'zod'
import { checkReader, may, seesAll } from '../../core/authorization.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { originOf, QUESTION_STATES, type Question, type QuestionState } from '../../core/question.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import { storedJson, storedOrNull } from '../../engine/stored-json.ts'
import type { QuestionLine, TaskLine, TaskRecord } from '../../store/reads.ts'
import { isObject } from '../../util/guards.ts'
import { nextTurn } from '../../util/turns.ts'
import { defineOperation } from '../define-operation.ts'
import { cursor, json, nextCursor, pageLimit, principalShape, taskId, text, time } from '../input.ts'
import { readTask } from '../tasks/read-task.ts'
import { statusShape, workShape } from '../tasks/shape.ts'
import { ownerOf } from '../tasks/task-search.ts'
import { contentHashOf, workAt } from '../tasks/work.ts'
import { questionOf } from './decision.ts'
import { approvalListSummary } from './summary.ts'
import { answerMembers, decisionFields, principalOrNull, questionFields } from './view.ts'

const differencesShape = z.array(
  z.object({
    path: z.string().describe('JSON pointer to the member that differs'),
    before: json.optional().describe('The value before; absent if the member was added'),
    after: json.optional().describe('The value after; absent if the member was removed'),
  }),
)

export const approvalShape = z.object({
  task_id: z.string().describe('The task to be approved'),
  n: questionFields.n,
  kind: questionFields.kind,
  state: decisionFields.state,
  request: json.describe(
    'title, show, reason, rule_id; approve_by is client if the user of the client may decide in the client',
  ),
  asked_by: questionFields.asked_by,
  origin: questionFields.origin,
  asked_at: time.describe('When the approval was requested'),
  expires_at: time.nullable().describe('When the approval expires; null if it never does'),
  decided_by: decisionFields.decided_by,
  decided_at: decisionFields.decided_at,
  answer: json.describe(
    'An approval has comment and payload, a denial has reason; client names the program in which its user decided, if so. Null if undecided',
  ),
  diff: differencesShape.optional().describe('What the approver changed in the payload'),
  content_hash: z
    .string()
    .describe(
      'Hash of the request and of everything that the worker will receive, including edits by the approver. approve and deny accept it',
    ),
  task: z
    .object({
      ...workShape.shape,
      payload_pointer: z
        .string()
        .describe(
          'inline://task/TASK_ID, or the location of the payload (or of more of it) that the agent gave',
        ),
      payload_is_elsewhere: z
        .boolean()
        .describe(
          'Whether the worker may read content at payload_pointer. The gate does not know that content, and it may change after the decision',
        ),
      not_before: time
        .nullable()
        .describe('The task is not started before this time, even if approved; null if it need not wait'),
      owner: principalShape.describe('Who created the task'),
      created_at: time.describe('When the task was created'),
      status: statusShape.describe('The current status of the task'),
      policy: json.describe(
        'What the policies decided: action, rule_id, reason, redacted_fields; null if nothing',
      ),
    })
    .describe('Everything that the worker will receive, and who asks for it'),
})

export type ApprovalView = z.output<typeof approvalShape>

/** The number of questions that one call examines, and the number per read. */
const MAX_SCANNED = 2000
const PAGE = 200

export const listApprovals = defineOperation({
  name: 'list_approvals',
  title: 'List approvals',
  description:
    'Tasks that wait for the approval of a person, longest waiting first, with what needs approval. Other states are listed newest first. ' +
    'Agents see the approvals of their own tasks; callers who may decide see all. Repeat with next_cursor until it is null.',
  input: z.strictObject({
    state: z
      .enum([...QUESTION_STATES, 'all'])
      .default('open')
      .describe('Only approvals in this state; `all` for every state'),
    type: text(255).optional().describe('Only approvals of tasks of this type'),
    created_by: text(300)
      .optional()
      .describe('Only approvals of tasks of this owner: the id of an agent, or kind:id'),
    rule_id: text(255).optional().describe('Only approvals that this rule requires'),
    limit: pageLimit,
    cursor,
  }),
  output: z.object({
    approvals: z
      .array(approvalShape)
      .readonly()
      .describe('The approvals of this page. A page may have fewer than limit and still not be the last'),
    next_cursor: nextCursor,
  }),
  access: 'list',
  toolsets: ['operator'],
  summary: approvalListSummary,
  rest: { method: 'GET', path: '/v1/approvals' },
  example: { state: 'open' },
  async run({ engine }, caller, { limit, cursor, state, type, created_by, rule_id }) {
    const isWide = isOverseer(caller)
    const { tenant } = await engine.tenant(caller.tenant)
    const self = principalKey(caller.principal)
    const owner = created_by === undefined ? undefined : ownerOf(created_by)
    const matches = (task: TaskLine) =>
      (type === undefined || task.type === type) &&
      (owner === undefined || task.owner === owner) &&
      (isWide || task.owner === self || self === `agent:${task.principal_ai}`)
    const scope = {
      tenant,
      query: { list: 'approvals', state, type, owner, rule_id, self: isWide ? null : self },
    }
    const start = state === 'open' ? 0 : Number.MAX_SAFE_INTEGER
    const from = cursor === undefined ? start : await engine.cursors.read(scope, cursor)
    const found = await findQuestions(engine, tenant, { state, from, limit, matches })
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
        if (record === undefined || question === undefined) return []
        const view = approvalView(record, question)
        return rule_id === undefined || isOfRule(view, rule_id) ? [view] : []
      }),
      next_cursor: next === null ? null : await engine.cursors.write(scope, next),
    }
  },
})

function isOfRule({ request }: ApprovalView, rule_id: string): boolean {
  return isObject(request) && request.rule_id === rule_id
}

export const getApproval = defineOperation({
  name: 'get_approval',
  title: 'Get an approval',
  description:
    'One approval: the request, the principal that asked, everything that the worker will receive, and the decision with its edits, if there is one.',
  input: z.strictObject({
    task_id: taskId,
    n: z
      .int()
      .min(1)
      .optional()
      .describe('The number of the question within the task; the newest question if absent'),
  }),
  output: approvalShape,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/approvals/{task_id}' },
  async run({ engine }, caller, { task_id, n }) {
    const tenant = await engine.tenant(caller.tenant)
    const record = await readTask(engine, tenant, task_id)
    if (!isOverseer(caller)) checkReader(record.task, caller)
    return approvalView(record, questionOf(record, n))
  },
})

interface QuestionQuery {
  readonly state: QuestionState | 'all'
  readonly from: number
  readonly limit: number
  matches(task: TaskLine): boolean
}

interface FoundQuestions {
  readonly questions: readonly { readonly line: QuestionLine; readonly task: TaskLine }[]
  /** The position of the next page; null at the end. */
  readonly next: number | null
}

/** The first questions whose tasks match. It examines a bounded number of narrow rows. */
async function findQuestions(
  engine: Engine,
  tenant: number,
  { state, from, limit, matches }: QuestionQuery,
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
      if (task === undefined || !matches(task)) continue
      if (questions.length === limit) return { questions, next: position }
      questions.push({ line, task })
      position = line.seq
    }
    if (page.length < PAGE) return { questions, next: null }
    position = page.at(-1)?.seq ?? position
  }
  return { questions, next: position }
}

async function linesOf(
  engine: Engine,
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
  const { diff, ...answer } = answerMembers(question)
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

/** Callers who may decide, or who see all tasks, see every approval. */
function isOverseer(caller: Caller): boolean {
  return seesAll(caller.role) || may(caller, 'approve')
}
