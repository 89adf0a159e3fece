import { z } from 'zod'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html, nothing } from '../../util/html.ts'
import { block, faultBox, form, hidden, jsonBlock, line, principal, time } from '../components.ts'
import { itemPath } from '../fields.ts'
import type { Visit } from '../visit.ts'

const optionalText = z.string().optional().catch(undefined)

const requestShape = z.looseObject({
  title: optionalText,
  message: optionalText,
  reason: optionalText,
  rule_id: optionalText,
  approve_by: optionalText,
  show: z.unknown().optional(),
  schema: z.unknown().optional(),
  upstream: optionalText,
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .catch(undefined),
})

/** The known fields of a request. A worker may have written anything. */
export function requestOf(request: unknown): z.output<typeof requestShape> {
  const parsed = requestShape.safeParse(request)
  return parsed.success ? parsed.data : { show: request }
}

/** The question that a task waits for, with a form for the answer. */
export function openQuestion(
  { task_id, question }: TaskView,
  { token, now, form: sent, fault }: Visit,
): Content {
  if (question === null) return nothing
  const request = requestOf(question.request)
  const since = html`Asked ${time(question.asked_at, now)} by ${principal(question.asked_by)}${question.expires_at !== null && html`, expires ${time(question.expires_at, now)}`}.`
  if (question.kind === 'approval') {
    return html`<section class="card ask" aria-labelledby="h-question"><h2 id="h-question">Waiting for approval</h2>
<p>${line(request.title ?? '', 500)}</p><p class="soft">${since}</p>
<a class="button primary" href="${itemPath('approvals', task_id)}" data-key="a">Decide</a></section>`
  }
  const isUpstream = question.origin === 'upstream'
  const typed = sent.get('content') ?? (isUpstream ? emptyAnswer(request.schema) : '')
  return html`<section class="card ask" aria-labelledby="h-question"><h2 id="h-question">Waiting for input</h2>
${isUpstream && html`<p>The upstream <b>${line(request.upstream ?? '', 100)}</b> asks:</p>`}<p class="prose">${block(request.message ?? '', 4000)}</p>${isUpstream && page(request.url)}<p class="soft">${since}</p>
${request.schema !== undefined && html`<details><summary>Schema of the answer</summary>${jsonBlock(request.schema, 'Schema of the answer')}</details>`}
${form(
  token,
  `${itemPath('tasks', task_id)}/answer`,
  html`${faultBox(fault)}${hidden({ n: question.n })}${answerField(request.schema, typed)}<button class="button primary">Answer</button>${isUpstream && REFUSALS}`,
)}</section>`
}

/** Responses that an upstream understands besides an answer. */
const REFUSALS = html` <button class="button" name="action" value="decline" formnovalidate>Decline</button> <button class="button" name="action" value="cancel" formnovalidate>Dismiss</button>`

/** As text, because the upstream chose the address. */
function page(url: string | undefined): Content {
  return (
    url !== undefined &&
    html`<p>Page to open, on <b>${line(new URL(url).host, 300)}</b>: <code>${line(url, 2048)}</code></p>`
  )
}

const formShape = z.looseObject({
  properties: z.record(z.string(), z.looseObject({ type: z.string(), default: z.unknown().optional() })),
})

/** An answer to the form of an upstream, to be filled in. */
function emptyAnswer(schema: unknown): string {
  const { success, data } = formShape.safeParse(schema)
  if (!success) return ''
  const empty: Readonly<Record<string, unknown>> = { number: 0, integer: 0, boolean: false, array: [] }
  const fields = Object.entries(data.properties).map(([name, { type, default: value }]) => [
    name,
    value ?? empty[type] ?? '',
  ])
  return JSON.stringify(Object.fromEntries(fields), null, 2)
}

const choiceShape = z.looseObject({ enum: z.array(z.string().max(200)).min(1).max(100) })
const stringShape = z.looseObject({ type: z.literal('string') })

/** Whether the schema may allow a string. The operation validates the answer. */
function allowsText(schema: unknown): boolean {
  const { success, data } = looseShape.safeParse(schema)
  if (!success) return schema === undefined || schema === null || schema === true
  if (data.type !== undefined) return [data.type].flat().includes('string')
  return !OBJECT_WORDS.some((word) => word in data)
}

const looseShape = z.looseObject({ type: z.union([z.string(), z.array(z.string())]).optional() })
const OBJECT_WORDS = ['properties', 'required', 'items', 'const'] as const

/** The field of the answer: a choice, text, or JSON. `content_is` tells how its content is parsed. */
function answerField(schema: unknown, typed: string): Html {
  const text = hidden({ content_is: 'text' })
  const choice = choiceShape.safeParse(schema)
  if (choice.success) {
    return html`${text}<label for="content">Answer</label><select id="content" name="content">${choice.data.enum.map(
      (value) =>
        html`<option value="${value}"${value === typed && html` selected`}>${line(value, 100)}</option>`,
    )}</select>`
  }
  const isText = stringShape.safeParse(schema).success
  const isEither = !isText && allowsText(schema)
  const either = hidden({ content_is: 'either' })
  const label = isText ? 'Answer' : isEither ? 'Answer, as text or JSON' : 'Answer, as JSON'
  return html`${isText && text}${isEither && either}<label for="content">${label}</label><textarea id="content" name="content" rows="4" required spellcheck="false">${typed}</textarea>`
}
