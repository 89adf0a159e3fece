import type { Question, QuestionKind } from '../../core/question.ts'
import type { QuestionLine, QuestionReads } from '../reads.ts'
import { readTenant } from './borrow.ts'
import { list } from './columns.ts'
import { type Pooled, run } from './database.ts'
import { QUESTION } from './shapes.ts'

const OPEN = `state = 'open'`
const ALL = 'seq > 0'

const LINE = 'task_id, n, seq, state'

export const questionQueries = {
  all_questions_ascending: questionsAfter(list(QUESTION), ALL),
  all_questions_descending: questionsBefore(list(QUESTION), ALL),
  open_questions_ascending: questionsAfter(list(QUESTION), OPEN),
  open_questions_descending: questionsBefore(list(QUESTION), OPEN),

  all_question_lines_ascending: questionsAfter(LINE, ALL),
  all_question_lines_descending: questionsBefore(LINE, ALL),
  open_question_lines_ascending: questionsAfter(LINE, OPEN),
  open_question_lines_descending: questionsBefore(LINE, OPEN),

  count_open_questions: `
    SELECT (count(*) FILTER (WHERE kind = 'approval'))::int AS approval,
      (count(*) FILTER (WHERE kind = 'input'))::int AS input
    FROM questions WHERE tenant = $1 AND ${OPEN}`,
} as const satisfies Readonly<Record<string, string>>

function questionsAfter(columns: string, condition: string): string {
  return `
    SELECT ${columns} FROM questions
    WHERE tenant = $1 AND kind = $2 AND seq > $3 AND ${condition} ORDER BY seq LIMIT $4`
}

function questionsBefore(columns: string, condition: string): string {
  return `
    SELECT ${columns} FROM questions
    WHERE tenant = $1 AND kind = $2 AND seq < $3 AND ${condition} ORDER BY seq DESC LIMIT $4`
}

export function questionReadsOn(pooled: Pooled): QuestionReads {
  return {
    openQuestions: async (tenant) => {
      const statement = { name: 'count_open_questions', text: questionQueries.count_open_questions }
      const [counts] = await readTenant(pooled, tenant, (client) =>
        run<Record<QuestionKind, number>>(client, statement, [tenant]),
      )
      if (counts === undefined) throw new Error('a count has no row')
      return counts
    },
    questionLines: (tenant, kind, which, from, order, limit) => {
      const name = `${which}_question_lines_${order}` as const
      const statement = { name, text: questionQueries[name] }
      return readTenant(pooled, tenant, (client) =>
        run<QuestionLine>(client, statement, [tenant, kind, from, limit]),
      )
    },
    questions: (tenant, kind, which, from, order, limit) => {
      const name = `${which}_questions_${order}` as const
      const statement = { name, text: questionQueries[name] }
      return readTenant(pooled, tenant, (client) =>
        run<Question>(client, statement, [tenant, kind, from, limit]),
      )
    },
  }
}
