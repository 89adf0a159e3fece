import { z } from 'zod'
import { type Content, type Html, html } from '../../util/html.ts'
import { jsonBlock, line, textBlock } from '../components.ts'

const text = z.string().optional().catch(undefined)

/** What errors usually contain. A worker may have reported anything. */
const errorShape = z.looseObject({
  code: text,
  name: text,
  message: text,
  error: text,
  stack: text,
  details: z.unknown().optional(),
})

interface ErrorSummary {
  readonly code: string | undefined
  readonly message: string
}

/** An error in one line. */
export function errorSummary(error: unknown): ErrorSummary {
  const { code, message } = parts(error)
  return { code, message: message ?? JSON.stringify(error) ?? '' }
}

interface Parts extends Readonly<Record<string, unknown>> {
  readonly code: string | undefined
  readonly message: string | undefined
  readonly stack: string | undefined
}

function parts(error: unknown): Parts {
  if (typeof error === 'string') return { code: undefined, message: error, stack: undefined }
  const { success, data } = errorShape.safeParse(error)
  if (!success) return { code: undefined, message: undefined, stack: undefined }
  return { code: data.code ?? data.name, message: data.message ?? data.error, stack: data.stack }
}

/** An error for people: the message and the stack with their line breaks, then everything else as JSON. */
export function errorDetail(error: unknown, label = 'Error'): Html {
  const { code, message, stack } = parts(error)
  if (message === undefined && stack === undefined) return jsonBlock(error, label)
  return html`<div class="error-box"><p class="error-head">${code !== undefined && html`<code>${line(code, 80)}</code> `}${message !== undefined && firstLine(message)}</p>
${message?.includes('\n') && textBlock(message, `${label}, complete`)}
${stack !== undefined && html`<details><summary>Stack</summary>${textBlock(stack, 'Stack')}</details>`}
${others(error)}</div>`
}

function firstLine(message: string): Content {
  return line(message.split('\n', 1)[0] ?? '', 1000)
}

function others(error: unknown): Content {
  const { success, data } = errorShape.safeParse(error)
  if (!success) return undefined
  const { code: _, name: __, message: ___, stack: ____, ...rest } = data
  return (
    Object.values(rest).some((value) => value !== undefined) &&
    html`<details><summary>All fields</summary>${jsonBlock(error, 'Error')}</details>`
  )
}
