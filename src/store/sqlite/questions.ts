import type { Question, QuestionKind } from '../../core/question.ts'
import type { QuestionLine, QuestionReads } from '../reads.ts'
import type { Changes } from '../store.ts'
import type { Database } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { walk } from './pace.ts'

const COLUMNS = [
  'tenant',
  'task_id',
  'n',
  'kind',
  'seq',
  'asked_by',
  'asked_at',
  'lease_id',
  'expires_at',
  'not_before',
  'request',
  'state',
  'decided_by',
  'decided_at',
  'decided_seq',
  'answer',
  'content_hash',
] as const satisfies readonly (keyof Question)[]

export const OF_TASK = `SELECT ${COLUMNS} FROM questions WHERE task_id = ? AND tenant = ? ORDER BY n`

const LINE = ['task_id', 'n', 'seq', 'state'] as const satisfies readonly (keyof QuestionLine)[]

const pages = (columns: readonly string[], index: string, condition: string) => ({
  ascending: `SELECT ${columns} FROM questions INDEXED BY ${index}
    WHERE tenant = ? AND kind = ? AND seq > ? ${condition} ORDER BY seq LIMIT ?`,
  descending: `SELECT ${columns} FROM questions INDEXED BY ${index}
    WHERE tenant = ? AND kind = ? AND seq < ? ${condition} ORDER BY seq DESC LIMIT ?`,
})

// The condition of the partial index stands here word for word: otherwise SQLite does not use it.
export const PAGES = {
  all: pages(COLUMNS, 'questions_all', ''),
  open: pages(COLUMNS, 'questions_open', "AND state = 'open'"),
} as const

export const LINES = {
  all: pages(LINE, 'questions_all', ''),
  open: pages(LINE, 'questions_open', "AND state = 'open'"),
} as const

export const OPEN = `SELECT count(*) FILTER (WHERE kind = 'approval') AS approval,
    count(*) FILTER (WHERE kind = 'input') AS input
  FROM questions INDEXED BY questions_open WHERE tenant = ? AND state = 'open'`

export function prepareQuestionLookup(database: Database): (tenant: number, taskId: string) => Question[] {
  const select = database.prepare(OF_TASK)
  return (tenant, taskId) => select.all(taskId, tenant) as Question[]
}

export function prepareQuestionReads(database: Database): QuestionReads {
  const prepared = ({ all, open }: typeof PAGES | typeof LINES) => ({
    all: { ascending: database.prepare(all.ascending), descending: database.prepare(all.descending) },
    open: { ascending: database.prepare(open.ascending), descending: database.prepare(open.descending) },
  })
  const page = prepared(PAGES)
  const lines = prepared(LINES)
  const open = database.prepare(OPEN)
  return {
    openQuestions: async (tenant) => attemptAvailable(() => open.get(tenant) as Record<QuestionKind, number>),
    questionLines: (tenant, kind, which, from, order, limit) =>
      walk(from, limit, (position, size) => {
        return lines[which][order].iterate(tenant, kind, position, size) as Iterable<QuestionLine>
      }),
    questions: async (tenant, kind, which, from, order, limit) =>
      attemptAvailable(() => page[which][order].all(tenant, kind, from, limit) as Question[]),
  }
}

export function prepareQuestionWrites(database: Database): (changes: Changes) => void {
  const insert = database.prepare(`INSERT INTO questions (${COLUMNS}) VALUES (${COLUMNS.map(() => '?')})`)
  const decide = database.prepare(
    `UPDATE questions SET state = ?, decided_by = ?, decided_at = ?, decided_seq = ?, answer = ?, content_hash = ?
     WHERE task_id = ? AND tenant = ? AND n = ? AND state = 'open'`,
  )
  return (changes) => {
    for (const question of changes.asked) insert.run(...COLUMNS.map((column) => question[column]))
    for (const { tenant, task_id, n, ...question } of changes.decided) {
      const { state, decided_by, decided_at, decided_seq, answer, content_hash } = question
      const { changes: found } = decide.run(
        state,
        decided_by,
        decided_at,
        decided_seq,
        answer,
        content_hash,
        task_id,
        tenant,
        n,
      )
      if (Number(found) !== 1) throw new Error(`a question to be decided is not open (${task_id}, ${n})`)
    }
  }
}
