import { ERRORS, type Fault } from '../core/errors.ts'
import { type Content, type Html, html, nothing } from '../util/html.ts'
import { oneLine, pieces, visibleJson } from '../util/untrusted-text.ts'

/** One line of untrusted text with its hidden characters marked, cut to `max` characters. */
export function line(text: string, max = 200): Content {
  const { line, isCut } = oneLine(text, max)
  return isCut ? [visible(line), html`<span title="shortened">…</span>`] : visible(line)
}

/** Untrusted text of several lines. Beyond `max` characters the number of missing ones is shown instead. */
export function block(text: string, max: number): Content {
  if (text.length <= max) return visible(text)
  return [
    visible(text.slice(0, max)),
    html`<strong class="cut">… ${count(text.length - max)} more characters are not shown</strong>`,
  ]
}

function visible(text: string): Content {
  return Array.from(pieces(text), (piece) =>
    'text' in piece ? piece.text : html`<span class="hidden-char">${piece.hidden}</span>`,
  )
}

export function count(number: number): string {
  return number.toLocaleString('en-US')
}

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** A length of time in its largest unit, such as `3 min`. */
export function duration(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / 1000)
  const [size, unit] = UNITS.find(([step]) => seconds >= step) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

/** A length of time as it was measured, such as `40 ms`, `1.2 s` or `3 min 4 s`. */
export function spent(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toString()} s`
  const at = UNITS.findIndex(([step]) => ms / 1000 >= step)
  const [size = 1, unit = 's'] = UNITS[at] ?? []
  const [less = 1, smaller = 's'] = UNITS[at + 1] ?? []
  const whole = Math.floor(ms / 1000 / size)
  const rest = Math.floor((ms / 1000 - whole * size) / less)
  return `${whole} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ''}`
}

/** A number of seconds, such as `0.25 s` or `3 min`. */
export function seconds(number: number): string {
  return number < 60 ? `${Number(number.toPrecision(2))} s` : duration(number * 1000)
}

/** A time relative to now, with the exact time as tooltip. */
export function time(iso: string, now: number): Html {
  const at = Date.parse(iso)
  const words = at > now ? `in ${duration(at - now)}` : now - at < 1000 ? 'now' : `${duration(now - at)} ago`
  return html`<time datetime="${iso}" title="${exact(iso)}">${words}</time>`
}

/** A time to the second, in UTC. */
export function exact(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

/** A relative time followed by the exact one. */
export function bothTimes(iso: string, now: number): Html {
  return html`${time(iso, now)} <span class="exact">${exact(iso)}</span>`
}

export function form(token: string, action: string, content: Content, kind = ''): Html {
  return html`<form method="post" action="${action}"${kind !== '' && html` class="${kind}"`}>${hidden({ token })}${content}</form>`
}

/** Hidden fields of a form. Those without a value are omitted. */
export function hidden(fields: Readonly<Record<string, string | number | undefined>>): Content {
  return Object.entries(fields).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`,
  )
}

export function status(value: string): Html {
  return html`<span class="status status-${value}">${value.replaceAll('_', ' ')}</span>`
}

export function principal({ kind, id }: { readonly kind: string; readonly id: string }): Html {
  return html`<span class="principal"><span class="soft">${kind}:</span>${line(id, 80)}</span>`
}

/** More than the maximum size of payloads, because the person who decides must see all of it. */
const MAX_JSON = 1024 * 1024

export function jsonBlock(value: unknown, label: string): Html {
  return html`<pre class="json" tabindex="0" role="group" aria-label="${label}">${block(visibleJson(value), MAX_JSON)}</pre>`
}

/** Less than for JSON, because hidden characters in a text take more space when they are marked. */
const MAX_TEXT = 256 * 1024

export function textBlock(text: string, label: string): Html {
  return html`<pre class="text" tabindex="0" role="group" aria-label="${label}">${block(text, MAX_TEXT)}</pre>`
}

export interface Fact {
  readonly name: string
  readonly value: Content
}

export function facts(list: readonly (Fact | false | undefined)[]): Html {
  return html`<dl class="facts">${list.map((fact) => fact && html`<div><dt>${fact.name}</dt><dd>${fact.value}</dd></div>`)}</dl>`
}

export function empty(title: string, hint: Content): Html {
  return html`<div class="empty"><p class="empty-title">${title}</p><p>${hint}</p></div>`
}

export function heading(title: Content, aside: Content = ''): Html {
  return html`<div class="heading"><h1>${title}</h1>${aside}</div>`
}

interface Column {
  readonly label: string
  /** `number` aligns right with tabular digits; `wide` takes the remaining width; `tight` does not wrap. */
  readonly kind?: 'number' | 'wide' | 'tight'
  /** Whether the column is left out on a phone. */
  readonly isExtra?: boolean
}

/** A dense table. On a phone it scrolls sideways within its box. */
export function table(label: string, columns: readonly Column[], rows: readonly Html[]): Html {
  return html`<div class="table-box" tabindex="0" role="group" aria-label="${label}"><table class="table">
<thead><tr>${columns.map((column) => html`<th scope="col" class="${cellClass(column)}">${column.label}</th>`)}</tr></thead>
<tbody data-rows>${rows}</tbody></table></div>`
}

/**
 * One row of a table. Its key identifies it among the rows of the table, so that an update sends only the rows that
 * have changed. The first cell names the row.
 */
export function tableRow(
  key: string,
  columns: readonly Column[],
  cells: readonly Content[],
  kind = '',
): Html {
  return html`<tr class="row ${kind}" data-row="${key}">${columns.map((column, i) =>
    i === 0
      ? html`<th scope="row" class="${cellClass(column)}">${cells[i]}</th>`
      : html`<td class="${cellClass(column)}">${cells[i]}</td>`,
  )}</tr>`
}

function cellClass({ kind, isExtra = false }: Column): string {
  return [kind ?? '', isExtra ? 'extra' : ''].join(' ').trim()
}

/** A command to copy. */
export function command(text: string): Html {
  return html`<div class="command"><pre tabindex="0" role="group" aria-label="Command">${text}</pre><button type="button" class="button small" data-copy="${text}" hidden>Copy</button></div>`
}

/** The time that has passed since a moment, such as `3 min`. It counts on while the page is open. */
export function elapsed(iso: string, now: number): Html {
  return html`<time datetime="${iso}" title="since ${exact(iso)}" data-elapsed>${duration(now - Date.parse(iso))}</time>`
}

/** The first and the next page of a list. */
export function pager(first: Content, next: Content): Html {
  return html`<nav class="pager" aria-label="Pages" data-live="pager">
${first}
${next}
</nav>`
}

export function errorBox(problem: Content): Html {
  return html`<div class="notice bad" role="alert">${problem}</div>`
}

/** Why a form was refused, if it was. */
export function faultBox(fault: Fault | undefined): Content {
  return (
    fault &&
    errorBox(html`<strong>${line(fault.message, 1000)}</strong> <span class="soft">${fault.code}</span>`)
  )
}

export function statusOf(fault: Fault | undefined): number {
  return fault === undefined ? 200 : ERRORS[fault.code].http
}

interface Tab {
  readonly label: string
  readonly href: string
  readonly current: boolean
}

export function tabs(label: string, list: readonly Tab[]): Html {
  return html`<nav class="tabs" aria-label="${label}"><ul>${list.map(
    (tab) =>
      html`<li><a href="${tab.href}"${tab.current && html` aria-current="page"`}>${tab.label}</a></li>`,
  )}</ul></nav>`
}

/** An id. A click selects all of it. */
export function identifier(id: string): Html {
  return html`<code class="id">${line(id)}</code>`
}

/** An id with a button that copies it. Not for links, which cannot contain buttons. */
export function copyableId(id: string): Html {
  return html`<span class="copyable">${identifier(id)}${copyButton(id)}</span>`
}

/** Copies a text. The script shows the button, because it needs the script. */
export function copyButton(text: string): Html {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="Copy" hidden></button>`
}

type Notice = readonly [text: string, kind?: 'plain']

/** The outcome of the previous request. The path contains only the name of the notice and two numbers. */
const NOTICES: Readonly<Record<string, Notice | ((done: number, skipped: number) => Notice)>> = {
  approved: ['Approved. The task is queued.'],
  remembered: ['Approved and remembered: a new rule allows this until the given date.'],
  approved_some: (done, skipped) => [`Approved ${tasks(done)}.${left(skipped)}`],
  denied_some: (done, skipped) => [`Denied ${tasks(done)}.${left(skipped)}`],
  denied: ['Denied. The task is canceled.'],
  answered: ['Answered. The task is queued.'],
  decline: ['Declined. The upstream continues the call without an answer.'],
  cancel: ['Dismissed. The upstream continues the call without an answer.'],
  canceled: (done, skipped) => [
    `Canceled ${tasks(done)}.${skipped > 0 ? ` ${tasks(skipped)} had already ended and did not change.` : ''}`,
  ],
  canceled_some: (done) => [
    `Canceled ${tasks(done)}, and there are more. Cancel again to continue.`,
    'plain',
  ],
  none: ['Nothing was selected.', 'plain'],
  over: ['The task had already ended and did not change.', 'plain'],
  requested: ['Canceled. A worker that is running the task is notified to stop.'],
  retried: ['This is the new task, with the same input. The original task did not change.'],
  created: ['Created. The task is queued.'],
  ran: ['This is the task of the run.'],
  pausing: ['Pausing. A running scheduler confirms it within a second.'],
  resuming: ['Resuming. A running scheduler confirms it within a second.'],
  drained: ['Draining. The worker finishes its tasks and receives no more.'],
  undrained: ['The worker receives tasks again.'],
  accepted: ['Accepted. The tool is offered again.'],
  saved: ['Saved. The change is in effect.'],
  removed: ['Removed.'],
  revoked: ['Revoked. Every server refuses the key within a second.'],
  tokens_revoked: ['Revoked. Every server refuses the tokens within a second.'],
  ended: (done) => [`The session has ended.${done > 0 ? ` Canceled ${tasks(done)}.` : ''}`],
  elsewhere: ['Another server has this session. It ends there.', 'plain'],
  left: ['You are signed out.', 'plain'],
}

function left(skipped: number): string {
  return skipped > 0
    ? ` ${tasks(skipped)} had been decided by someone else, had changed, or cannot be decided by you.`
    : ''
}

function tasks(n: number): string {
  return n === 1 ? '1 task' : `${count(n)} tasks`
}

/** The parameters of a notice, which is shown once. */
export const NOTICE_PARAMETERS = ['notice', 'done', 'kept'] as const

/** The notice that the query names, if any. */
export function notice(query: URLSearchParams): Html {
  const name = query.get('notice') ?? ''
  const found = Object.hasOwn(NOTICES, name) ? NOTICES[name] : undefined
  if (found === undefined) return nothing
  const [text, kind] =
    typeof found === 'function' ? found(number(query, 'done'), number(query, 'kept')) : found
  return noticeBox(text, kind ?? 'good')
}

export function noticeBox(text: Content, kind: 'good' | 'plain'): Html {
  return html`<div class="notice ${kind}" role="status">${text}</div>`
}

function number(query: URLSearchParams, name: string): number {
  const value = Number(query.get(name))
  return Number.isSafeInteger(value) && value >= 0 ? value : 0
}
