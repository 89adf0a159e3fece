import { z } from 'zod'
import { canonical, type Json, parseCanonical } from '../../core/json/json.ts'
import type { Question } from '../../core/question.ts'
import { jsonObject } from '../input.ts'
import type { Schemas } from '../task-types/schemas.ts'

const request = z.object({ schema: jsonObject.optional() })

/** Refuses content that does not fit the schema of the request, which was checked when it came in. */
export async function checkContent(schemas: Schemas, question: Question, content: Json): Promise<void> {
  if (question.kind !== 'input') return
  const { schema } = request.parse(parseCanonical(question.request))
  if (schema === undefined) return
  const answer = { value: content, text: canonical(content), name: 'content' }
  const fault = await schemas.answerFault(canonical(schema), answer)
  if (fault !== undefined) throw fault
}
