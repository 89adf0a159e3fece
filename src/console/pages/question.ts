import { z } from 'zod'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Attempt, complaintOf } from '../attempt.ts'
import { place } from '../fields.ts'
import { type Content, type Html, html, nothing } from '../html.ts'
import { form, jsonBlock, principal } from '../parts.ts'
import { time } from '../time.ts'
import { block, line } from '../untrusted.ts'

const requestShape = z.looseObject({
  title: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
  reason: z.string().optional().catch(undefined),
  rule_id: z.string().optional().catch(undefined),
  show: z.unknown().optional(),
  schema: z.unknown().optional(),
})

type Request = z.output<typeof requestShape>

/** What is asked, whatever else a worker has put there. */
export function requestOf(request: unknown): Request {
  const parsed = requestShape.safeParse(request)
  return parsed.success ? parsed.data : { show: request }
}

/** What a task waits for, and where it is answered. */
export function openQuestion(
  { task_id, question }: TaskView,
  token: string,
  now: number,
  attempt?: Attempt,
): Content {
  if (question === null) return nothing
  const request = requestOf(question.request)
  const since = html`Asked ${time(question.asked_at, now)} by ${principal(question.asked_by)}${question.expires_at !== null && html`, expires ${time(question.expires_at, now)}`}.`
  if (question.kind === 'approval') {
    return html`<section class="card ask" aria-labelledby="h-question"><h2 id="h-question">Waits for approval</h2>
<p>${line(request.title ?? '', 500)}</p><p class="soft">${since}</p>
<a class="button primary" href="${place('approvals', task_id)}" data-key="a">Decide</a></section>`
  }
  return html`<section class="card ask" aria-labelledby="h-question"><h2 id="h-question">Waits for input</h2>
<p class="prose">${block(request.message ?? '', 4000)}</p><p class="soft">${since}</p>
${request.schema !== undefined && html`<details><summary>What the answer must be</summary>${jsonBlock(request.schema, 'Schema of the answer')}</details>`}
${form(
  token,
  `${place('tasks', task_id)}/answer`,
  html`${attempt && complaintOf(attempt)}<input type="hidden" name="n" value="${question.n}">${answerField(request.schema, attempt?.form.get('content') ?? '')}<button class="button primary">Answer</button>`,
)}</section>`
}

const choiceShape = z.looseObject({ enum: z.array(z.string().max(200)).min(1).max(100) })
const stringShape = z.looseObject({ type: z.literal('string') })

/** Whether a text may be an answer. The gate checks it in the end. */
function allowsText(schema: unknown): boolean {
  const { success, data } = looseShape.safeParse(schema)
  if (!success) return schema === undefined || schema === null || schema === true
  if (data.type !== undefined) return [data.type].flat().includes('string')
  return !OBJECT_WORDS.some((word) => word in data)
}

const looseShape = z.looseObject({ type: z.union([z.string(), z.array(z.string())]).optional() })
const OBJECT_WORDS = ['properties', 'required', 'items', 'const'] as const

/** As easy to fill in as what is asked for allows. What a field holds is JSON, unless it says what else it may be. */
function answerField(schema: unknown, typed: string): Html {
  const text = html`<input type="hidden" name="content_is" value="text">`
  const choice = choiceShape.safeParse(schema)
  if (choice.success) {
    return html`${text}<label for="content">Answer</label><select id="content" name="content">${choice.data.enum.map(
      (value) =>
        html`<option value="${value}"${value === typed && html` selected`}>${line(value, 100)}</option>`,
    )}</select>`
  }
  const isText = stringShape.safeParse(schema).success
  const isEither = !isText && allowsText(schema)
  const either = html`<input type="hidden" name="content_is" value="either">`
  const label = isText ? 'Answer' : isEither ? 'Answer, as text or JSON' : 'Answer, as JSON'
  return html`${isText && text}${isEither && either}<label for="content">${label}</label><textarea id="content" name="content" rows="4" required spellcheck="false">${typed}</textarea>`
}
