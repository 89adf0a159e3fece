import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { type Json, parseCanonical } from '../core/json.ts'
import type { Question } from '../core/question.ts'
import { jsonObject } from './input.ts'
import { schemaCompiler } from './task-types-schema.ts'

const request = z.object({ schema: jsonObject.optional() })

/** Refuses content that does not fit the schema of the request, which was checked when it came in. */
export async function checkContent(question: Question, content: Json): Promise<void> {
  if (question.kind !== 'input') return
  const { schema } = request.parse(parseCanonical(question.request))
  if (schema === undefined) return
  const compile = await schemaCompiler()
  const problem = compile(schema)(content, 'content')
  if (problem !== undefined) throw invalid(problem.path, problem.problem)
}
