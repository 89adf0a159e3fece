import type { z } from 'zod'
import type { ReceiptView } from '../../features/receipts/get-receipt.ts'
import type { listLogs } from '../../features/tasks/list-logs.ts'
import type { getTaskProgress } from '../../features/tasks/read-task.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { block, exact, line, principal, time } from '../components.ts'
import { itemPath, link } from '../fields.ts'

interface Receipts {
  readonly receipts: readonly ReceiptView[]
  readonly next_cursor: string | null
}

/** The receipts of a task, newest first, each with a link to its page. */
export function receiptSection(
  { task_id }: TaskView,
  { receipts, next_cursor }: Receipts,
  query: URLSearchParams,
  now: number,
): Html {
  const here = itemPath('tasks', task_id)
  return html`<section data-live="receipts" aria-labelledby="h-receipts"><h2 id="h-receipts">Receipts, newest first</h2>
<p><a href="${link('/console/receipts', { task_id })}">Show as a graph</a>${query.get('receipts') !== null && html` · <a href="${here}">Newest receipts</a>`}</p>
<ol class="log">${receipts.map(
    (receipt) =>
      html`<li data-row="${receipt.seq}"><span class="when" title="${exact(receipt.created_at)}">${time(receipt.created_at, now)}</span><a class="mono" href="${itemPath('receipts', receipt.receipt_id)}">${receipt.receipt_type}</a><span>${principal(receipt.from)} <span class="soft">to</span> ${principal(receipt.to)}</span></li>`,
  )}</ol>
${next_cursor !== null && html`<p><a href="${link(here, { receipts: next_cursor })}">Older receipts</a></p>`}</section>`
}

type Reports = z.output<typeof getTaskProgress.output>

/** The progress reports, newest first. */
export function progressSection(
  { task_id }: TaskView,
  { progress, next_cursor }: Reports,
  query: URLSearchParams,
  now: number,
): Html {
  if (progress.length === 0) return html`<div data-live="progress"></div>`
  const here = itemPath('tasks', task_id)
  return html`<section data-live="progress" aria-labelledby="h-progress"><h2 id="h-progress">Progress reports, newest first</h2>
${query.get('progress') !== null && html`<p><a href="${here}">Newest reports</a></p>`}
<ol class="log">${progress.map((entry) => {
    const at = typeof entry.updated_at === 'string' ? entry.updated_at : ''
    return html`<li data-row="${at}-${wordsOf(entry).length}"><span class="when">${at !== '' && time(at, now)}</span><span>${line(wordsOf(entry), 300)}</span></li>`
  })}</ol>
${next_cursor !== null && html`<p><a href="${link(here, { progress: next_cursor })}">Older reports</a></p>`}</section>`
}

function wordsOf({
  updated_at: _,
  run_id: __,
  percent,
  message,
  ...rest
}: Readonly<Record<string, unknown>>): string {
  const words = [
    typeof percent === 'number' && `${percent} %`,
    typeof message === 'string' && message,
    Object.keys(rest).length > 0 && JSON.stringify(rest),
  ].filter((part) => part !== false)
  return words.join(' · ')
}

type Logs = z.output<typeof listLogs.output>

/** The log lines, oldest first. */
export function logSection(
  { task_id }: TaskView,
  { lines, next_cursor }: Logs,
  from: string | undefined,
  now: number,
): Html {
  if (lines.length === 0 && from === undefined) return html`<div data-live="logs"></div>`
  const here = itemPath('tasks', task_id)
  return html`<section data-live="logs" aria-labelledby="h-logs"><h2 id="h-logs">Log</h2>
${from !== undefined && html`<p><a href="${here}">First lines</a></p>`}
<ol class="log lines">${lines.map(
    ({ at, level, text, context, truncated }, i) =>
      html`<li data-row="${i}"><span class="when" title="${exact(at)}">${time(at, now)}</span><span class="level level-${level}">${level}</span><span class="log-text">${block(text, 4000)}${context && html` <code class="soft">${line(JSON.stringify(context), 400)}</code>`}${truncated && cut()}</span></li>`,
  )}</ol>
${next_cursor !== null && html`<p><a href="${link(here, { logs: next_cursor })}">Later lines</a></p>`}</section>`
}

function cut(): Content {
  return html` <strong class="cut">The log is full: everything after this was dropped.</strong>`
}
