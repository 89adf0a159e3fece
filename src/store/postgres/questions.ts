import type { Question, QuestionKind } from '../../core/question.ts'
import type { QuestionReads } from '../reads.ts'
import { readTenant } from './borrow.ts'
import { list } from './columns.ts'
import { type Pooled, run } from './database.ts'
import { QUESTION } from './shapes.ts'

const OPEN = `state = 'open'`
const ALL = 'seq > 0'

export const questionQueries = {
  all_questions_ascending: questionsAfter(ALL),
  all_questions_descending: questionsBefore(ALL),
  open_questions_ascending: questionsAfter(OPEN),
  open_questions_descending: questionsBefore(OPEN),

  count_open_questions: `
    SELECT (count(*) FILTER (WHERE kind = 'approval'))::int AS approval,
      (count(*) FILTER (WHERE kind = 'input'))::int AS input
    FROM questions WHERE tenant = $1 AND ${OPEN}`,
} as const satisfies Readonly<Record<string, string>>

function questionsAfter(condition: string): string {
  return `
    SELECT ${list(QUESTION)} FROM questions
    WHERE tenant = $1 AND kind = $2 AND seq > $3 AND ${condition} ORDER BY seq LIMIT $4`
}

function questionsBefore(condition: string): string {
  return `
    SELECT ${list(QUESTION)} FROM questions
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
    questions: (tenant, kind, which, from, order, limit) => {
      const name = `${which}_questions_${order}` as const
      const statement = { name, text: questionQueries[name] }
      return readTenant(pooled, tenant, (client) =>
        run<Question>(client, statement, [tenant, kind, from, limit]),
      )
    },
  }
}
